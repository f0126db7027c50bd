"""The card of a freshly pretrained BERT: what the run itself knows."""

from collections.abc import Mapping
from typing import Any

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.recipes.bert_run import BertRun


def bert_card(run: BertRun, metrics: Mapping[str, Any], *, name: str) -> str:
    """The card as Markdown. Licence and limits are the user's to state, and the card says so."""
    training, dev = metrics["training"], metrics["dev"]
    shown = [metric for metric in ("mlm_loss", "mlm_accuracy", "nsp_accuracy") if metric in dev]
    card = Card(
        name=name,
        purpose=f"{run.summary}.",
        languages=[],
        licence="unstated",
        data=[CardData(name="train", rows=training["pieces"], licence="unstated", note="pieces")],
        training={
            "recipe": run.name,
            "seed": training["seed"],
            "epochs": training["epochs"],
            "best epoch": training["best_epoch"],
            "steps": training["steps"],
            "seconds": training["seconds"],
            "vocabulary": run.model.vocab_size,
            "hidden": f"{run.masking.share:.0%} of the {run.masking.unit}",
            "length of a sequence": f"{run.data.length}, at the end {run.data.long_length}",
        },
        numbers=[
            CardNumber(metric=metric, value=dev[metric], n=dev["n"], data="valid")
            for metric in shown
        ],
        limits=[
            "Pretrained only: it answers no question until a task has been learnt on top of it; "
            "no other limit has been probed."
        ],
    )
    return make_card(card, kind="encoder")
