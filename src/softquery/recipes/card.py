"""The card of a freshly trained bundle: what the run itself knows."""

from collections.abc import Mapping
from typing import Any

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.recipes.work import Prepared, Work


def run_card(prepared: Prepared, work: Work, metrics: Mapping[str, Any], *, name: str) -> str:
    """The card as Markdown. Licence and limits are the user's to state, and the card says so."""
    run, metric = prepared.run, prepared.task.steers_by
    card = Card(
        name=name,
        purpose=f"{run.summary}.",
        languages=["zh" if run.text.unit in ("characters", "jieba") else "en"],
        licence="unstated",
        data=[
            CardData(name="train", rows=len(prepared.source.train), licence="unstated"),
            CardData(
                name="held back to tune by", rows=len(prepared.source.tune), licence="unstated"
            ),
        ],
        training={
            "recipe": run.name,
            "seed": run.training.seed,
            "epochs": metrics["training"]["epochs"],
            "best epoch": metrics["training"]["best_epoch"],
            "steps": metrics["training"]["steps"],
            "seconds": metrics["training"]["seconds"],
            f"dev {work.noun} that also stand in train": metrics["training"]["dev_rows_in_train"],
        },
        numbers=_numbers(metric, metrics["dev"]),
        limits=["Measured on one dev set only; no limits have been probed."],
    )
    return make_card(card, kind=work.kind)


def _numbers(metric: str, dev: Mapping[str, Any]) -> list[CardNumber]:
    """The metric on dev; nothing where it is undefined, as with grades that are all alike."""
    if dev[metric] is None:
        return []
    bounds = dev.get(f"{metric}_interval")
    interval = (bounds[0], bounds[1]) if bounds and None not in bounds else None
    return [CardNumber(metric=metric, value=dev[metric], n=dev["n"], data="dev", interval=interval)]
