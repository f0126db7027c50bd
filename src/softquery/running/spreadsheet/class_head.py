"""Classes from a table by a head on a frozen sentence encoder: seconds, and no torch.

With few rows every one is worth learning from: they are measured by cross-validation, in which the
settings are chosen anew for every fold, and the model that is kept has learnt from all of them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softquery.measure.cross_validation import NEVER, stratified_folds
from softquery.recipes.few_labels import FewLabelsRun, HeadSettings, classify_few
from softquery.running.few_labels.head_encoder import HeadEncoder, choose_encoder
from softquery.running.few_labels.head_fit import FittedHead, ReadTexts, fit_head
from softquery.running.few_labels.train_few_labels import LabelledSplits, write_head
from softquery.running.run_options import RunOptions
from softquery.running.spreadsheet.held_out import HeldOut
from softquery.running.spreadsheet.labelled_rows import LabelledTable, deal_out
from softquery.running.spreadsheet.sheet_options import SheetOptions, Trained

Ids = NDArray[np.int64]
FOLDS = 5
CROSSED = 1_000
"""Fewer rows than these are measured by cross-validation, and all of them learnt from."""
HELD_SHARE = 0.2
MOST_HELD = 2_000
"""Rows that are held out of more."""
MOST_LEARNT = 10_000
"""Rows that a head is fitted to."""
COARSE = HeadSettings(costs=(3.0, 30.0), word_weights=(0.5, 1.0), num_folds=3)
"""What is tried within each fold of the measurement, which is made five times."""
MOST_GROWING = 20
"""Labels up to which that is worth its time."""
GROWTH = (0.125, 0.25, 0.5)
"""Shares of the rows by which it is shown what more of them bring."""


def train_head(table: LabelledTable, dev: LabelledTable | None, options: SheetOptions) -> Trained:
    """Fit a head, measure it on rows that it has not seen, and write its bundle.

    Args:
        table: The rows.
        dev: Those to measure on, where they are given.
        options: Where it writes, and what it stands on.
    """
    options.say(f"a head on a sentence encoder: about {seconds_for(len(table.rows)):.0f} seconds")
    run = replace(classify_few(), training=replace(classify_few().training, seed=options.seed))
    say = options.say
    name = "" if options.init is None else str(options.init)
    encoder = choose_encoder(name, table.texts, run.head, say)
    learnt, held_places = _split(table, dev, options)
    read = ReadTexts.of(encoder, table.texts, "the file", say)
    num_classes = len(table.labels)
    fitted = fit_head(
        run,
        read.some(learnt),
        table.gold[learnt],
        num_classes=num_classes,
        observer=options.observer,
        say=say,
    )
    if dev is not None:
        theirs = ReadTexts.of(encoder, dev.texts, "dev", say)
        chances, how = fitted.probabilities(theirs), f"{len(dev.rows):,} given rows"
        held = HeldOut(rows=dev.rows, gold=dev.gold, probabilities=chances, how=how)
    elif len(held_places):
        chances = fitted.probabilities(read.some(held_places))
        how = f"{len(held_places):,} rows that were held out, and not learnt from"
        gold = table.gold[held_places]
        held = HeldOut(rows=table.some(held_places), gold=gold, probabilities=chances, how=how)
    else:
        held = crossed(run, table, read, options)
    is_crossed = dev is None and not len(held_places)
    bundle = options.output
    rows = LabelledSplits(
        train=table.some(learnt),
        dev=[],
        labels=table.labels,
        gold=table.gold[learnt],
        dev_gold=np.zeros(0, dtype=np.int64),
        num_shared=0,
    )
    inner = RunOptions(
        data=table.source, output=bundle, observer=options.observer, say=lambda line: None
    )
    write_head(run, rows, encoder, fitted, encoder.warnings, inner)
    return Trained(
        bundle=bundle,
        labels=table.labels,
        held=held,
        learned_by=f"a head on {encoder.name}, which stays as it is: vectors and words, by "
        "logistic regression",
        facts=_facts(encoder, fitted, len(learnt)),
        growth=growth(run, table, read, fitted, held, options.seed) if is_crossed else [],
        warnings=encoder.warnings,
    )


def _split(
    table: LabelledTable, dev: LabelledTable | None, options: SheetOptions
) -> tuple[Ids, Ids]:
    """The places that are learnt from, and those that are held out; none by cross-validation."""
    every, none = np.arange(len(table.rows)), np.zeros(0, dtype=np.int64)
    learnt, held = every, none
    if dev is None and len(every) >= CROSSED:
        share = min(HELD_SHARE, MOST_HELD / len(every))
        learnt, held = deal_out(table.gold, table.groups(), share=share, seed=options.seed)
    if len(learnt) > MOST_LEARNT:
        drawn = np.random.default_rng(options.seed).permutation(len(learnt))[:MOST_LEARNT]
        options.say(
            f"warning: a head learns from {MOST_LEARNT:,} rows, drawn from {len(learnt):,}; "
            'fine-tuning learns from all of them: pip install "softquery[train]"'
        )
        learnt = np.sort(learnt[drawn])
    return learnt, held


def crossed(
    run: FewLabelsRun, table: LabelledTable, read: ReadTexts, options: SheetOptions
) -> HeldOut:
    """Every row by a head that had not seen it, settings and all; these are chosen from fewer."""
    coarse = replace(run, head=COARSE)
    folds = stratified_folds(table.gold, table.groups(), num_folds=FOLDS, seed=options.seed)
    chances = np.zeros((len(folds), len(table.labels)))
    for fold in range(int(folds.max(initial=NEVER)) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = fit_head(
            coarse, read.some(inside), table.gold[inside], num_classes=len(table.labels)
        )
        chances[outside] = fitted.probabilities(read.some(outside))
    places = np.flatnonzero(folds != NEVER)
    return HeldOut(
        rows=table.some(places),
        gold=table.gold[places],
        probabilities=chances[places],
        how=f"{len(places):,} rows, each by a model of {FOLDS} that had not seen it "
        "(cross-validation); the model that is kept has learnt from all of them",
    )


def growth(
    run: FewLabelsRun,
    table: LabelledTable,
    read: ReadTexts,
    fitted: FittedHead,
    held: HeldOut,
    seed: int,
) -> list[dict[str, float]]:
    """Accuracy on rows out of fold by how many others were learnt from, with settings as found."""
    if fitted.search is None or len(table.labels) > MOST_GROWING:
        return []
    fixed = replace(
        run,
        head=HeadSettings(costs=(fitted.cost,), word_weights=(fitted.word_weight,), num_folds=2),
    )
    folds = stratified_folds(table.gold, table.groups(), num_folds=FOLDS, seed=seed)
    found: list[dict[str, float]] = []
    for share in GROWTH:
        right, num, sizes = 0, 0, []
        for fold in range(int(folds.max(initial=NEVER)) + 1):
            inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            some = _some(table.gold, inside, share, seed)
            if len(set(table.gold[some].tolist())) < 2:
                continue
            one = fit_head(fixed, read.some(some), table.gold[some], num_classes=len(table.labels))
            chances = one.probabilities(read.some(outside))
            right += int((chances.argmax(axis=1) == table.gold[outside]).sum())
            num += len(outside)
            sizes.append(len(some))
        if num:
            found.append({"rows": float(np.mean(sizes)), "accuracy": right / num})
    whole = float((held.probabilities.argmax(axis=1) == held.gold).mean())
    return [*found, {"rows": len(table.rows) * (1 - 1 / FOLDS), "accuracy": whole}]


def _some(gold: Ids, inside: Ids, share: float, seed: int) -> Ids:
    """A share of some rows, of each label as many as of the others, in proportion."""
    generator = np.random.default_rng(seed)
    found: list[int] = []
    for label in np.unique(gold[inside]).tolist():
        own = generator.permutation(inside[gold[inside] == label])
        found += own[: max(1, round(share * len(own)))].tolist()
    return np.array(sorted(found), dtype=np.int64)


def _facts(encoder: HeadEncoder, fitted: FittedHead, num_learnt: int) -> dict[str, object]:
    return {
        "rows learnt from": num_learnt,
        "sentence encoder": encoder.name,
        "cost": fitted.cost,
        "weight of words": fitted.word_weight,
    }


def seconds_for(num_rows: int) -> float:
    """How long it takes, roughly: five fits and the one that is kept."""
    return 1 + 6 * (0.1 + num_rows / 600)
