"""Classes from a table by a head on a sentence encoder: seconds, and no torch.

On request the encoder is fine-tuned where that pays; it takes a minute, and torch.

With few rows every one is worth learning from: they are measured by cross-validation, in which the
settings are chosen anew for every fold, and the model that is kept has learnt from all of them.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.measure import expected_calibration_error
from softquery.measure.cross_validation import NEVER, stratified_folds
from softquery.recipes.few_labels import FewLabelsRun, HeadSettings, classify_few, classify_tuned
from softquery.running.few_labels.head_encoder import choose_encoder
from softquery.running.few_labels.head_fit import FittedHead, ReadTexts, fit_head
from softquery.running.few_labels.head_search import HeadSearch
from softquery.running.few_labels.train_few_labels import LabelledSplits, write_head
from softquery.running.few_labels.tuned_head import BestHead, best_head
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
    run = recipe_of(options)
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
    with TemporaryDirectory() as scratch:
        best = best_head(
            run,
            BestHead(encoder=encoder, read=read.some(learnt), fitted=fitted),
            table.gold[learnt],
            num_classes=num_classes,
            folder=Path(scratch),
            observer=options.observer,
            say=say,
        )
        held, growing = _held(run, table, dev, read, held_places, best, options)
        _write(run, table, learnt, best, options)
    tuned = f"{best.encoder.name}, " + (
        "fine-tuned by the rows" if best.is_tuned else "which stays as it is"
    )
    return Trained(
        bundle=options.output,
        labels=table.labels,
        held=held,
        learned_by=f"a head on {tuned}: vectors and words, by logistic regression",
        facts=_facts(best, len(learnt)),
        growth=growing,
        tried=_tried(best, table.gold[learnt]),
        warnings=encoder.warnings,
    )


def recipe_of(options: SheetOptions) -> FewLabelsRun:
    """The recipe of a run on a file."""
    run = classify_few() if options.tuning == "never" else classify_tuned()
    return replace(run, training=replace(run.training, seed=options.seed))


def _held(
    run: FewLabelsRun,
    table: LabelledTable,
    dev: LabelledTable | None,
    read: ReadTexts,
    held_places: Ids,
    best: BestHead,
    options: SheetOptions,
) -> tuple[HeldOut, list[dict[str, float]]]:
    """What is answered to rows that were not learnt from, and what more rows have brought."""
    fitted, say = best.fitted, options.say
    if dev is not None:
        chances = fitted.probabilities(ReadTexts.of(best.encoder, dev.texts, "dev", say))
        how = f"{len(dev.rows):,} given rows"
        return HeldOut(rows=dev.rows, gold=dev.gold, probabilities=chances, how=how), []
    if len(held_places):
        theirs = read.some(held_places)
        if best.is_tuned:
            theirs = ReadTexts.of(best.encoder, theirs.texts, "held out", lambda line: None)
        how = f"{len(held_places):,} rows that were held out, and not learnt from"
        rows, gold = table.some(held_places), table.gold[held_places]
        chances = fitted.probabilities(theirs)
        return HeldOut(rows=rows, gold=gold, probabilities=chances, how=how), []
    if best.trial is not None and best.trial.pays:
        return crossed_by_search(table, best.trial.tuned, run), []
    held = crossed(run, table, read, options)
    return held, growth(run, table, read, fitted, held, options.seed)


def _write(
    run: FewLabelsRun, table: LabelledTable, learnt: Ids, best: BestHead, options: SheetOptions
) -> None:
    rows = LabelledSplits(
        train=table.some(learnt),
        dev=[],
        labels=table.labels,
        gold=table.gold[learnt],
        dev_gold=np.zeros(0, dtype=np.int64),
        num_shared=0,
    )
    inner = RunOptions(
        data=table.source, output=options.output, observer=options.observer, say=lambda line: None
    )
    write_head(run, rows, best, best.encoder.warnings, inner)


def _tried(best: BestHead, gold: Ids) -> list[dict[str, str | float]]:
    """The frozen encoder and the tuned one on rows out of fold; empty without a choice."""
    if best.trial is None:
        return []
    both = (("as it is", best.trial.frozen), ("fine-tuned by the rows", best.trial.tuned))
    return [
        search_figures(f"{best.encoder.name}, {state}", search, gold[search.held])
        for state, search in both
    ]


def search_figures(name: str, search: HeadSearch, gold: Ids) -> dict[str, str | float]:
    """Accuracy, log loss and calibration error of what a search has chosen, out of fold."""
    chances = Calibration(temperature=search.best.temperature).probabilities(search.logits)
    return {
        "what": name,
        "accuracy": search.best.accuracy,
        "loss": -search.best.log_likelihood,
        "ece": expected_calibration_error(chances, gold),
    }


def crossed_by_search(table: LabelledTable, search: HeadSearch, run: FewLabelsRun) -> HeldOut:
    """Every row by an encoder and a head that had not seen it, with the settings of the search."""
    chances = Calibration(temperature=search.best.temperature).probabilities(search.logits)
    return HeldOut(
        rows=table.some(search.held),
        gold=table.gold[search.held],
        probabilities=chances,
        how=f"{len(search.held):,} rows, each by a model of {run.head.num_folds} that had not seen "
        "it (cross-validation, by which the settings were chosen as well); the model that is kept "
        "has learnt from all of them",
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


def _facts(best: BestHead, num_learnt: int) -> dict[str, object]:
    return {
        "rows learnt from": num_learnt,
        "sentence encoder": best.encoder.name,
        "cost": best.fitted.cost,
        "weight of words": best.fitted.word_weight,
    }


def seconds_for(num_rows: int) -> float:
    """How long it takes, roughly: five fits and the one that is kept."""
    return 1 + 6 * (0.1 + num_rows / 600)
