"""Pairs from a table: a trained matcher, with probabilities that are fitted to the rows. No torch.

A matcher that starts from nothing learns little from a few hundred pairs, and one that has learnt
from millions need not start again. Its weights stay as they are; how its logits become
probabilities, and so where one label ends and the other begins, follows from the rows. That is kept
only where cross-validation finds it no worse than the matcher untouched.
"""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration
from softquery.bundle import RECORDS, Bundle, read_bundle, update_bundle, with_section
from softquery.bundle.config import CARD, CONFIG, REPORT, REPORT_PAGE, to_json
from softquery.errors import InputError, counted
from softquery.files import Row, write_text
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
from softquery.running.spreadsheet.sheet_options import SheetOptions, Trained
from softquery.runtime.kinds import check_kind
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.text import language_name, language_of
from softquery.zoo import resolve
from softquery.zoo.by_language import SHIPPED_MATCHERS

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
INFERENCE, INFERENCES = "nli-en", {"entailment", "neutral", "contradiction"}
FOLDS = 5
MOST_READ = 10_000
"""Rows that a fit of so few numbers is worth reading."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadPairs:
    """Rows as a matcher reads them, with their labels in its order."""

    rows: Sequence[Row]
    logits: NDArray[np.float32]
    gold: Ids


def train_pairs(table: LabelledTable, dev: LabelledTable | None, options: SheetOptions) -> Trained:
    """Fit a trained matcher to the rows, measure it on rows that it has not seen, and write it.

    Args:
        table: The rows.
        dev: Those to measure on, where they are given.
        options: Where it writes, and which matcher it stands on.
    """
    name, reason = _named(table, options)
    bundle = read_bundle(resolve(name))
    check_kind(bundle, "matcher")
    matcher = load_matcher(bundle.path)
    shown = name if options.init is None else bundle.path.name
    options.say(f"matcher: {shown} ({reason}); its weights stay as they are")
    read, labels = _in_order(matcher, _some(table, options), table, shown, options)
    # The likeliest label is answered, and always one: that is what is measured here.
    own = replace(matcher.calibration, threshold=None, abstain_below=None)
    untouched = own.probabilities(read.logits)
    folds = _folds(read, table, options.seed)
    is_counted = folds != NEVER
    if not is_counted.any():
        raise InputError(
            f"{counted(len(read.rows), 'row')} with too few different pairs of each label to "
            "measure by; add rows",
            source=table.source,
        )
    crossed = _crossed(read, folds)
    tried = [
        _figures(f"{shown} as it is", untouched[is_counted], read.gold[is_counted]),
        _figures("fitted to the rows", crossed[is_counted], read.gold[is_counted]),
    ]
    is_fitted = _is_better(tried)
    kept = _fitted(read.logits, read.gold) if is_fitted else own
    chances = crossed if is_fitted else untouched
    by = "each by a fit that had not seen it (cross-validation)"
    how = f"{int(is_counted.sum()):,} rows, {by if is_fitted else 'by the matcher as it is'}"
    held = HeldOut(
        rows=[row for row, counts in zip(read.rows, is_counted.tolist(), strict=True) if counts],
        gold=read.gold[is_counted],
        probabilities=chances[is_counted],
        how=how,
    )
    error = (float(tried[0]["ece"]), float(tried[int(is_fitted)]["ece"]))
    _write(bundle, shown, labels, kept, options, num_rows=len(read.rows), error=error)
    if dev is not None:
        held = _given(matcher, dev, table, labels, kept)
    what = "probabilities fitted to the rows" if is_fitted else "as it is: a fit was no better"
    options.say(f"{shown}: {what}")
    return Trained(
        bundle=options.output,
        labels=labels,
        held=held,
        learned_by=f"{shown}, whose weights stay as they are; {what}",
        facts={"matcher": shown, "rows": len(read.rows), "seed": options.seed},
        tried=tried,
    )


def _named(table: LabelledTable, options: SheetOptions) -> tuple[str, str]:
    """The matcher to stand on, and why: as named, by the labels, or by the language."""
    if options.init is not None:
        return str(options.init), "as named"
    counts = Counter(language_of(text) for text in table.texts)
    known = Counter({code: many for code, many in counts.items() if code in SHIPPED_MATCHERS})
    if not known or sum(known.values()) < len(table.rows) / 2:
        raise InputError(
            f"most texts are in no language that {' or '.join(SHIPPED_MATCHERS.values())} reads; "
            "name a matcher with --init",
            source=table.source,
        )
    language = max(known, key=lambda code: (known[code], str(code)))
    if language == "en" and set(table.labels) <= INFERENCES:
        return INFERENCE, f"labels are {', '.join(table.labels)}"
    return SHIPPED_MATCHERS[str(language)], f"most texts are in {language_name(str(language))}"


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


def _in_order(
    matcher: Matcher, places: Ids, table: LabelledTable, name: str, options: SheetOptions
) -> tuple[ReadPairs, tuple[str, ...]]:
    """The rows as the matcher reads them, and the labels of the file in its order."""
    rows = table.some(places)
    logits, gold = matcher.logits(_pairs(rows)), table.gold[places]
    if set(table.labels) <= set(matcher.labels):
        theirs = np.array([matcher.labels.index(label) for label in table.labels])
        return ReadPairs(rows=rows, logits=logits, gold=theirs[gold]), matcher.labels
    if not len(table.labels) == len(matcher.labels) == 2:
        raise InputError(
            f"{name} answers {', '.join(matcher.labels) or 'grades'}, and the file has "
            f"{counted(len(table.labels), 'label')} ({', '.join(table.labels[:6])}); name another "
            "matcher with --init, or train one: softquery train esim --data FOLDER",
            source=table.source,
        )
    is_turned = auc(gold, logits[:, 1] - logits[:, 0]) < 0.5
    labels = table.labels[::-1] if is_turned else table.labels
    gold = 1 - gold if is_turned else gold
    options.say(f"“{labels[1]}” is taken for {matcher.labels[1]}: pairs that {name} finds alike")
    return ReadPairs(rows=rows, logits=logits, gold=gold), labels


def _pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.values["sentence1"], row.values["sentence2"]) for row in rows]


def _folds(read: ReadPairs, table: LabelledTable, seed: int) -> Ids:
    """The fold of each row; pairs with the same first side stay together."""
    groups = [" ".join(row.values["sentence1"].casefold().split()) for row in read.rows]
    return stratified_folds(read.gold, groups, num_folds=FOLDS, seed=seed)


def _crossed(read: ReadPairs, folds: Ids) -> Floats:
    """For each row the probabilities by a fit to the other folds."""
    found = np.zeros(read.logits.shape)
    for fold in range(int(folds.max(initial=NEVER)) + 1):
        inside, outside = folds != fold, folds == fold
        fitted = _fitted(read.logits[inside], read.gold[inside])
        found[outside] = fitted.probabilities(read.logits[outside])
    return found


def _fitted(logits: NDArray[np.float32], gold: Ids) -> Calibration:
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


def _is_better(tried: Sequence[dict[str, str | float]]) -> bool:
    """Whether the fit answers no fewer rows rightly, and means its probabilities more truly."""
    before, after = tried
    return float(after["accuracy"]) >= float(before["accuracy"]) and float(after["loss"]) < float(
        before["loss"]
    )


def _given(
    matcher: Matcher,
    dev: LabelledTable,
    table: LabelledTable,
    labels: tuple[str, ...],
    kept: Calibration,
) -> HeldOut:
    """What is answered to the rows that the user gives to measure on."""
    places = np.array([labels.index(label) for label in table.labels])
    return HeldOut(
        rows=dev.rows,
        gold=places[dev.gold],
        probabilities=kept.probabilities(matcher.logits(_pairs(dev.rows))),
        how=f"{len(dev.rows):,} given rows",
    )


def _write(
    bundle: Bundle,
    name: str,
    labels: tuple[str, ...],
    kept: Calibration,
    options: SheetOptions,
    *,
    num_rows: int,
    error: tuple[float, float],
) -> None:
    """The matcher's bundle with other labels and another calibration."""
    target = options.output
    shutil.copytree(
        bundle.path, target, ignore=shutil.ignore_patterns(RECORDS, REPORT, REPORT_PAGE)
    )
    config = replace(bundle.config, task={**bundle.config.task, "labels": list(labels)})
    write_text(target / CONFIG, to_json(config.to_dict()))
    own = bundle.path.name
    card = bundle.card.replace(f"\n# {own}\n", f"\n# {target.name}\n", 1)
    for use in ("--model {}", 'load("{}")'):
        card = card.replace(use.format(own), use.format(target.name))
    told = f"The weights are those of {name}; probabilities follow {num_rows:,} pairs of a file."
    write_text(target / CARD, with_section(card, "From a file", [told]))
    update_bundle(
        read_bundle(target),
        calibration={
            "temperature": kept.temperature,
            "growth": kept.growth,
            "bias": None if kept.bias is None else list(kept.bias),
            "threshold": kept.threshold,
            "abstain_below": kept.abstain_below,
            "fitted_on": num_rows,
            "measured_on": num_rows,
            "ece_before": error[0],
            "ece_after": error[1],
        },
    )
