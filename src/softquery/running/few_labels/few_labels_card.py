"""The card of a head that was fitted to few labelled texts."""

from collections.abc import Mapping
from typing import Any

from softquery.bundle import Card, CardData, CardNumber, make_card
from softquery.recipes.few_labels import FewLabelsRun
from softquery.running.few_labels.head_encoder import HeadEncoder


def few_labels_card(
    run: FewLabelsRun,
    encoder: HeadEncoder,
    metrics: Mapping[str, Any],
    calibration: Mapping[str, Any],
    *,
    rows: int,
    name: str,
) -> str:
    """The card as Markdown. Licence and limits are the user's to state, and the card says so.

    Args:
        run: The recipe.
        encoder: What it stands on.
        metrics: As the bundle has them.
        calibration: Likewise; empty for none.
        rows: How many were learnt from.
        name: Of the bundle.
    """
    training = metrics["training"]
    place = "needs it to be installed" if encoder.base else "holds a copy of it"
    if encoder.state == "fine-tuned":
        place = "holds what it became"
    card = Card(
        name=name,
        purpose=f"{run.summary}.",
        languages=list(encoder.languages),
        licence="unstated",
        data=[CardData(name="train", rows=rows, licence="unstated")],
        training={
            "recipe": run.name,
            "sentence encoder": f"{encoder.name}, {encoder.state}; this bundle {place}",
            "seed": training["seed"],
            "cost": training["cost"],
            "weight of words": training["word_weight"],
            "dev texts that also stand in train": training["dev_rows_in_train"],
        },
        numbers=[
            _number(metrics[part], where)
            for part, where in (("dev", "dev"), ("tune", "train, out of fold"))
            if part in metrics
        ],
        limits=[
            "Out of fold, settings were chosen by the same texts that are counted, which flatters.",
            "What the encoder cannot tell apart and no word tells, the head cannot. No other limit "
            "has been probed.",
            *training["warnings"],
        ],
    )
    return make_card(card, kind="classifier", calibration=calibration)


def _number(found: Mapping[str, Any], where: str) -> CardNumber:
    bounds = found.get("accuracy_interval")
    return CardNumber(
        metric="accuracy",
        value=found["accuracy"],
        n=found["n"],
        data=where,
        interval=None if bounds is None else (bounds[0], bounds[1]),
    )
