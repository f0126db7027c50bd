"""What the rows themselves say: their labels, and what stands in the way of learning them.

Each warning says what to change, and is None where there is nothing to warn of. Needs no torch.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softquery.errors import InputError

Rows = Mapping[str, list[Any]]
"""The rows of `train`, of the tune set under `tune`, and of `dev`, before any vocabulary."""
SHOWN = 3
"""Examples of a kind that are named."""
ADVICE = "More rows help most; then --vectors, --init with a trained model, or another optim.lr"


@dataclass(frozen=True, slots=True)
class Answered:
    """A training row, as far as it may contradict another."""

    read: Hashable
    """What is read."""
    answer: Hashable
    """What is to be answered."""
    row: int
    """Where it stands in its file."""


def found_labels(
    rows: Rows, known: Sequence[str], advice: str = "; grades need a graded recipe"
) -> tuple[str, ...]:
    """The classes of the training rows, in alphabetical order, or in that of the known ones."""
    labels = sorted({row.values["label"] for row in (*rows["train"], *rows["tune"])})
    if not 2 <= len(labels) <= 1000:
        shown = ", ".join([*labels[:5], *(["…"] if len(labels) > 5 else [])])
        raise InputError(
            f"expected from 2 to 1,000 different labels, found {len(labels):,} ({shown}){advice}",
            source=rows["train"][0].source,
        )
    return tuple(known) if sorted(known) == labels else tuple(labels)


def contradictions(rows: Sequence[Answered], noun: str) -> str | None:
    """Equal inputs with different answers.

    Args:
        rows: Of the training data.
        noun: What a row is called, in the plural.
    """
    first: dict[Hashable, Hashable] = {}
    against = [
        each.read for each in rows if first.setdefault(each.read, each.answer) != each.answer
    ]
    if not against:
        return None
    found: dict[Hashable, dict[Hashable, int]] = {read: {} for read in against}
    num_rows = 0
    for each in rows:
        if each.read in found:
            found[each.read].setdefault(each.answer, each.row)
            num_rows += 1
    shown = "; ".join(_differing(places) for places in list(found.values())[:SHOWN])
    more = "; …" if len(found) > SHOWN else ""
    same = "the same one" if len(found) == 1 else f"{len(found):,} different ones"
    return (
        f"{num_rows:,} {noun} to train on contradict each other: they are {same}, with other "
        f"labels ({shown}{more}); correct them, or keep one of each"
    )


def _differing(places: Mapping[Hashable, int]) -> str:
    return " and ".join(
        f"row {row:,} {answer:.40}" if isinstance(answer, str) else f"row {row:,}"
        for answer, row in list(places.items())[:2]
    )


def single_rows(counts: Mapping[str, int], noun: str) -> str | None:
    """Labels that are there once: held back they are not learnt, and learnt they are not measured.

    >>> single_rows({"a": 9, "b": 1}, "texts")
    'one label has a single row (b); add texts for it, or merge it with another label'
    """
    found = sorted(label for label, count in counts.items() if count == 1)
    if not found:
        return None
    many = "one label has" if len(found) == 1 else f"{len(found):,} labels have"
    shown = ", ".join([f"{each:.40}" for each in found[:SHOWN]] + ["…"] * (len(found) > SHOWN))
    each_of = "it, or merge it" if len(found) == 1 else "each, or merge them"
    return f"{many} a single row ({shown}); add {noun} for {each_of} with another label"


def at_chance(metric: str, best: float | None, chance: float | None, where: str) -> str | None:
    """A metric that is no better than that of one answer to everything.

    >>> at_chance("accuracy", 0.4, 0.5, "the tune set")
    'accuracy on the tune set is 0.4000; one answer to everything has 0.5000'
    """
    if best is None or chance is None or best > chance + 1e-9:
        return None
    return f"{metric} on {where} is {best:.4f}; one answer to everything has {chance:.4f}"


def nothing_learnt(reasons: Sequence[str], advice: str = ADVICE) -> str:
    """The last line of a run that is no better than chance.

    Args:
        reasons: What shows it.
        advice: What may help.
    """
    return f"this run has learnt nothing: {'; '.join(reasons)}. {advice}"
