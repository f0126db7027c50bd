"""The card of a freshly trained language model: what the run itself knows."""

from collections.abc import Mapping
from typing import Any

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.recipes.elmo_run import ElmoRun


def elmo_card(run: ElmoRun, metrics: Mapping[str, Any], *, name: str) -> str:
    """The card as Markdown. Licence and limits are the user's to state, and the card says so."""
    training, dev = metrics["training"], metrics["dev"]
    card = Card(
        name=name,
        purpose=f"{run.summary}.",
        languages=["zh" if run.text.unit in ("characters", "jieba") else "en"],
        licence="unstated",
        data=[CardData(name="train", rows=training["words"], licence="unstated", note="words")],
        training={
            "recipe": run.name,
            "seed": training["seed"],
            "epochs": training["epochs"],
            "best epoch": training["best_epoch"],
            "steps": training["steps"],
            "seconds": training["seconds"],
            "words that are predicted": dev["vocabulary"],
            "clips": "as published" if run.model.way == "exact" else "none",
        },
        numbers=[
            CardNumber(metric=metric, value=dev[metric], n=dev["n"], data="valid")
            for metric in ("perplexity_forwards", "perplexity_backwards")
        ],
        limits=[
            "Perplexity is over the vocabulary above, with <unk> as one word of it "
            f"({dev['unknown_share']:.2%} of the words of valid); no other limit has been probed."
        ],
    )
    return make_card(card, kind="embedder")
