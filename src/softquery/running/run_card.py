"""The card of a freshly trained bundle: what the run itself knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.recipes.run import Run
from softquery.running.adapter import Prepared, TaskAdapter

MORE = ("bleu", "perplexity", "repeats_rightly", "ranked_first")
"""Further metrics that a card shows where they were measured."""


def run_card(
    prepared: Prepared, work: TaskAdapter, metrics: Mapping[str, Any], *, name: str
) -> str:
    """The card as Markdown. Licence and limits are the user's to state, and the card says so."""
    run, metric = prepared.run, prepared.task.steers_by
    card = Card(
        name=name,
        purpose=f"{run.summary}.",
        languages=_languages(run),
        licence="unstated",
        data=[
            CardData(name="train", rows=len(prepared.source.train), licence="unstated"),
            CardData(
                name="held back to tune by", rows=len(prepared.source.tune), licence="unstated"
            ),
        ],
        training={
            "recipe": run.name,
            **_base(run),
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


def _base(run: Run) -> dict[str, str]:
    """What a head was put on."""
    if run.bert is None or not run.bert.bundle:
        return {}
    return {"encoder": f"{Path(run.bert.bundle).name}, {run.bert.weights} weights"}


def _numbers(metric: str, dev: Mapping[str, Any]) -> list[CardNumber]:
    """The metric on dev; nothing where it is undefined, as with grades that are all alike."""
    names = dict.fromkeys([metric, *(name for name in MORE if name in dev)])
    return [_number(name, dev) for name in names if dev[name] is not None]


def _number(metric: str, dev: Mapping[str, Any]) -> CardNumber:
    bounds = dev.get(f"{metric}_interval")
    interval = (bounds[0], bounds[1]) if bounds and None not in bounds else None
    return CardNumber(metric=metric, value=dev[metric], n=dev["n"], data="dev", interval=interval)


def _languages(run: Run) -> list[str]:
    """Those that the run names; else what its unit of text tells."""
    if run.writing is not None and run.writing.languages:
        return list(run.writing.languages)
    return ["zh" if run.text.unit in ("characters", "jieba") else "en"]
