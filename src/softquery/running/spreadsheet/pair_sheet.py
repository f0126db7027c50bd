"""Pairs from a table: what a trained matcher and a sentence encoder know, fitted to them. No torch.

A matcher that starts from nothing learns little from a few hundred pairs, and one that has learnt
from millions need not start again. Its weights stay as they are. Four ways to answer are compared
by cross-validation: the matcher as it is; its logits with probabilities that are fitted to the
rows; these together with the cosine of both texts; and a head on both and on the vectors of the
texts, number by number. With few rows the matcher as it is stays, unless another way is right more
often by more than noise; with more, both together stay, unless the matcher alone does as well.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.errors import InputError, counted
from softquery.files import Row
from softquery.measure import (
    auc,
    choose_scaling_across,
    expected_calibration_error,
    form_of,
)
from softquery.measure.calibration_error import fit_scaling
from softquery.measure.cross_validation import NEVER, stratified_folds
from softquery.running.spreadsheet.held_out import HeldOut
from softquery.running.spreadsheet.labelled_rows import LabelledTable
from softquery.running.spreadsheet.pair_base import PairBase, choose_pair_base, write_pairs
from softquery.running.spreadsheet.pair_head_fit import (
    ComparedPairs,
    FittedPairHead,
    fit_pair_head,
    fit_pair_line,
)
from softquery.running.spreadsheet.sheet_options import SheetOptions, Trained
from softquery.runtime.match.model import Matcher

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
FOLDS = 5
MARGIN = 0.5
"""Standard errors by which a head must be right more often."""
PLENTY = 60
"""Rows from which on matcher and cosine together, three numbers, are safer than either alone."""
WayKind = Literal["untouched", "fitted", "both", "head"]
MOST_READ = 10_000
"""Rows that a fit of so few numbers is worth reading."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadPairs:
    """Rows as models read them, with their labels in the order of the answers."""

    rows: Sequence[Row]
    logits: NDArray[np.float32]
    """By the matcher."""
    compared: ComparedPairs | None
    """With vectors of the texts; None where no sentence encoder is beside the matcher."""
    gold: Ids
    labels: tuple[str, ...]
    has_own_labels: bool
    """Whether the labels are those of the matcher, if by other names."""

    @property
    def groups(self) -> list[str]:
        """Pairs with the same first side belong together."""
        return [" ".join(row.values["sentence1"].casefold().split()) for row in self.rows]


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedPairs:
    """How pairs are answered: by the matcher's logits or by a head's, and their probabilities."""

    scaling: Calibration
    head: FittedPairHead | None = None

    def probabilities(self, logits: NDArray[np.float32], compared: ComparedPairs | None) -> Floats:
        """Calibrated chances [N, C]."""
        if self.head is not None and compared is not None:
            logits = self.head.logits(compared)
        return self.scaling.probabilities(logits)


Fit = Callable[[ReadPairs, Ids], FittedPairs | None]
"""Fits to some rows; None where they are too few."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """A way to answer, and what it says of every row, by a fit that had not seen it."""

    kind: WayKind
    name: str
    told: str
    """What is said where it is kept."""
    fit: Fit
    chances: Floats

    @property
    def is_fitted(self) -> bool:
        """Whether it has learnt from the rows."""
        return self.kind != "untouched"


def train_pairs(table: LabelledTable, dev: LabelledTable | None, options: SheetOptions) -> Trained:
    """Fit what stands on a trained matcher, measure it on rows that it has not seen, and write it.

    Args:
        table: The rows.
        dev: Those to measure on, where they are given.
        options: Where it writes, and which matcher it stands on.
    """
    base = choose_pair_base(table, options)
    read = _read(base, table, _some(table, options), options)
    folds = stratified_folds(read.gold, read.groups, num_folds=FOLDS, seed=options.seed)
    is_counted = folds != NEVER
    if not is_counted.any():
        raise InputError(
            f"{counted(len(read.rows), 'row')} with too few different pairs of each label to "
            "measure by; add rows",
            source=table.source,
        )
    ways = _ways(base, read, folds, options.seed)
    gold = read.gold[is_counted]
    tried = [_figures(way.name, way.chances[is_counted], gold) for way in ways]
    right = [way.chances[is_counted].argmax(axis=1) == gold for way in ways]
    place = best_way([way.kind for way in ways], tried, right)
    way = ways[place]
    kept = way.fit(read, np.arange(len(read.rows)))
    if kept is None:
        raise InputError("too few different pairs to learn from; add rows", source=table.source)
    by = "each by a fit that had not seen it (cross-validation)"
    how = f"{len(gold):,} rows, {by if way.is_fitted else 'by the matcher as it is'}"
    held = HeldOut(
        rows=[row for row, counts in zip(read.rows, is_counted.tolist(), strict=True) if counts],
        gold=gold,
        probabilities=way.chances[is_counted],
        how=how,
    )
    write_pairs(
        base,
        read.labels,
        kept.scaling,
        None if kept.head is None else kept.head.head,
        options,
        num_rows=len(read.rows),
        error=(float(tried[0]["ece"]), float(tried[place]["ece"])),
    )
    if dev is not None:
        held = _given(base, dev, table, read.labels, kept)
    options.say(f"{base.name}: {way.told}")
    return Trained(
        bundle=options.output,
        labels=read.labels,
        held=held,
        learned_by=f"{base.name}, whose weights stay as they are; {way.told}",
        facts={"matcher": base.name, "rows": len(read.rows), "seed": options.seed},
        tried=tried,
    )


def _ways(base: PairBase, read: ReadPairs, folds: Ids, seed: int) -> list[Way]:
    """All ways to answer that there are; where the matcher can as it is, that comes first."""

    def untouched(read: ReadPairs, rows: Ids) -> FittedPairs:
        # The likeliest label is answered, and always one: that is what is measured here.
        own = base.matcher.calibration
        return FittedPairs(scaling=replace(own, threshold=None, abstain_below=None))

    def scaled(read: ReadPairs, rows: Ids) -> FittedPairs:
        return FittedPairs(scaling=_scaling(read.logits[rows], read.gold[rows]))

    def by_head(read: ReadPairs, rows: Ids) -> FittedPairs | None:
        return _by_head(read, rows, seed)

    found = []

    def add(kind: WayKind, name: str, told: str, fit: Fit) -> None:
        chances = _crossed(read, folds, fit)
        found.append(Way(kind=kind, name=name, told=told, fit=fit, chances=chances))

    if read.has_own_labels:
        told = "as it is: a fit was no better"
        add("untouched", f"{base.name} as it is", told, untouched)
        told = "probabilities fitted to the rows"
        add("fitted", "fitted to the rows", told, scaled)
    if read.compared is not None and base.encoder is not None:
        encoder = base.encoder.path.name
        told = f"with the cosine of {encoder}, fitted to the rows"
        add("both", f"{base.name} and the cosine of {encoder}", told, _by_line)
        told = f"a head on {base.name} and {encoder}, fitted to the rows"
        add("head", f"a head on {base.name} and {encoder}", told, by_head)
    return found


def _by_line(read: ReadPairs, rows: Ids) -> FittedPairs | None:
    """What the matcher says and the cosine, three numbers."""
    if read.compared is None:
        return None
    some, gold = read.compared.some(rows), read.gold[rows]
    head = fit_pair_line(some, gold, num_labels=len(read.labels))
    if head is None:
        return None
    return FittedPairs(scaling=_scaling(head.logits(some), gold), head=head)


def _by_head(read: ReadPairs, rows: Ids, seed: int) -> FittedPairs | None:
    """A head on the matcher and the encoder, its probabilities by rows out of its own folds."""
    if read.compared is None:
        return None
    gold, groups = read.gold[rows], read.groups
    found = fit_pair_head(
        read.compared.some(rows),
        gold,
        [groups[row] for row in rows.tolist()],
        num_labels=len(read.labels),
        seed=seed,
    )
    if found is None or found.search is None:
        return None
    logits = found.search.logits.astype(np.float32)
    return FittedPairs(scaling=_scaling(logits, gold[found.search.held]), head=found)


def _crossed(read: ReadPairs, folds: Ids, fit: Fit) -> Floats:
    """For each row the probabilities by a fit to the other folds."""
    found = np.full((len(read.rows), len(read.labels)), 1 / len(read.labels))
    for fold in range(int(folds.max(initial=NEVER)) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = fit(read, inside)
        if fitted is not None:
            compared = None if read.compared is None else read.compared.some(outside)
            found[outside] = fitted.probabilities(read.logits[outside], compared)
    return found


def _some(table: LabelledTable, options: SheetOptions) -> Ids:
    """The places of the rows to read."""
    every = np.arange(len(table.rows))
    if len(every) <= MOST_READ:
        return every
    options.say(
        f"warning: {MOST_READ:,} of {len(every):,} rows are read; a recipe learns from all of "
        "them: softquery train esim --data FOLDER --init match-en"
    )
    drawn = np.random.default_rng(options.seed).permutation(len(every))[:MOST_READ]
    return np.sort(drawn)


def _read(base: PairBase, table: LabelledTable, places: Ids, options: SheetOptions) -> ReadPairs:
    """The rows as the models read them, and the labels of the file in the matcher's order."""
    matcher, rows, gold = base.matcher, table.some(places), table.gold[places]
    logits = matcher.logits(_pairs(rows))
    labels, has_own = table.labels, True
    if set(labels) <= set(matcher.labels):
        labels = matcher.labels
        gold = np.array([labels.index(label) for label in table.labels])[gold]
    elif len(labels) == len(matcher.labels) == 2:
        if auc(gold, logits[:, 1] - logits[:, 0]) < 0.5:
            labels, gold = labels[::-1], 1 - gold
        liked = f"pairs that {base.name} finds alike"
        options.say(f"“{labels[1]}” is taken for {matcher.labels[1]}: {liked}")
    elif base.encoder is None:
        raise _other_labels(matcher, table, base.name)
    else:
        has_own = False
    return ReadPairs(
        rows=rows,
        logits=logits,
        compared=base.compared(rows, logits),
        gold=gold,
        labels=labels,
        has_own_labels=has_own,
    )


def _other_labels(matcher: Matcher, table: LabelledTable, name: str) -> InputError:
    return InputError(
        f"{name} answers {', '.join(matcher.labels) or 'grades'}, and the file has "
        f"{counted(len(table.labels), 'label')} ({', '.join(table.labels[:6])}); name another "
        "matcher with --init, or train one: softquery train esim --data FOLDER",
        source=table.source,
    )


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _scaling(logits: NDArray[np.float32], gold: Ids) -> Calibration:
    """How logits become probabilities, by these rows.

    A row of a label with n rows counts as (n + 1) / (n + 2) of one, and for the rest as one of the
    other labels (Platt 1999, Section 2.2): few rows that are all told apart do not make it certain.
    """
    none, num_labels = np.zeros(len(gold), dtype=np.int64), logits.shape[1]
    form = form_of(choose_scaling_across(logits, gold, none))
    known = np.bincount(gold, minlength=num_labels)[gold]
    shares = np.repeat((1 / (known + 2) / (num_labels - 1))[:, None], num_labels, axis=1)
    shares[np.arange(len(gold)), gold] = (known + 1) / (known + 2)
    found = fit_scaling(
        np.repeat(logits.astype(np.float64), num_labels, axis=0),
        np.tile(np.arange(num_labels), len(gold)),
        form,
        weights=shares.ravel(),
    )
    return Calibration(temperature=found.temperature, growth=found.growth, bias=found.bias)


def _figures(name: str, chances: Floats, gold: Ids) -> dict[str, str | float]:
    """Accuracy, log loss and calibration error of one way to answer."""
    own = chances[np.arange(len(gold)), gold]
    return {
        "what": name,
        "accuracy": float((chances.argmax(axis=1) == gold).mean()),
        "loss": float(-np.log(np.maximum(own, 1e-12)).mean()),
        "ece": float(expected_calibration_error(chances, gold)),
    }


def best_way(
    kinds: Sequence[WayKind],
    tried: Sequence[dict[str, str | float]],
    is_right: Sequence[NDArray[np.bool_]],
) -> int:
    """The place of what is kept, from the simplest way to the one with most numbers.

    With few rows, or without a cosine, the matcher as it is stands against each of the others in
    turn, but both together: choosing among one more way costs more there than it brings. With
    `PLENTY` of them it is both together, which neither of the two beats by more than
    noise; the matcher alone takes its place where it does as well. Whatever else is to take the
    place of what stands has to be right more often, by `MARGIN` of the standard error of the gain.

    Args:
        kinds: What the ways are.
        tried: Figures of each way.
        is_right: Which rows each of them answers rightly.
    """
    has_plenty = "both" in kinds and len(is_right[0]) >= PLENTY
    kept = kinds.index("both") if has_plenty or "untouched" not in kinds else 0
    for place, kind in enumerate(kinds):
        more = int((is_right[place] & ~is_right[kept]).sum())
        fewer = int((is_right[kept] & ~is_right[place]).sum())
        if place == kept or (kind == "both" and not has_plenty):
            continue
        may_tie = kind in ("untouched", "fitted")
        is_enough = more >= fewer if may_tie else more - fewer > MARGIN * (more + fewer) ** 0.5
        if is_enough and float(tried[place]["loss"]) < float(tried[kept]["loss"]):
            kept = place
    return kept


def _given(
    base: PairBase,
    dev: LabelledTable,
    table: LabelledTable,
    labels: tuple[str, ...],
    kept: FittedPairs,
) -> HeldOut:
    """What is answered to the rows that the user gives to measure on."""
    places = np.array([labels.index(label) for label in table.labels])
    logits = base.matcher.logits(_pairs(dev.rows))
    return HeldOut(
        rows=dev.rows,
        gold=places[dev.gold],
        probabilities=kept.probabilities(logits, base.compared(dev.rows, logits)),
        how=f"{len(dev.rows):,} given rows",
    )
