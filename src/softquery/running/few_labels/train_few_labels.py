"""Run `classify-few`: read rows, fit a head on a sentence encoder, and leave a bundle.

Needs no torch, unless the encoder was not exported or is to be fine-tuned.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery import __version__
from softquery.answers import Calibration, parse_class
from softquery.bundle import BundleConfig, write_bundle
from softquery.errors import ConfigError, InputError
from softquery.files import Row, find_split, read_rows, write_json, write_text
from softquery.measure import ClassReport, expected_calibration_error
from softquery.recipes.few_labels import FewLabelsRun
from softquery.running.few_labels.few_labels_card import few_labels_card
from softquery.running.few_labels.head_encoder import HeadEncoder, choose_encoder
from softquery.running.few_labels.head_fit import FittedHead, ReadTexts, fit_head
from softquery.running.few_labels.head_search import HeadSearch
from softquery.running.few_labels.tuned_head import BestHead, best_head
from softquery.running.row_checks import (
    Answered,
    at_chance,
    contradictions,
    found_labels,
    nothing_learnt,
    single_rows,
)
from softquery.running.run_options import RunOptions, Say
from softquery.runtime.classify.backend import SENTENCE_HEAD
from softquery.runtime.classify.sentence_head import (
    CARRIED,
    ENCODER,
    fingerprint_of,
)

COLUMNS = ("text", "label")
MOST_ROWS = 10_000
ADVICE = "More rows help most; then labels that the words of a text tell apart"
Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSplits:
    """Rows of a run, and their classes."""

    train: list[Row]
    dev: list[Row]
    labels: tuple[str, ...]
    gold: Ids
    """Of train."""
    dev_gold: Ids
    num_shared: int
    """Rows of dev whose text is also in train."""


def train_few_labels(run: FewLabelsRun, options: RunOptions) -> Path:
    """Fit a head and write its bundle.

    Args:
        run: The recipe, with its overrides.
        options: Where it reads and writes; its data are a folder with `train` and perhaps `dev`, or
            one file to train on.
    """
    target, say = Path(options.output), options.say
    if options.resume:
        raise ConfigError(
            f"--resume: {run.name} takes seconds to a minute, and leaves nothing to go on from"
        )
    if not target.name or target.exists():
        raise InputError("already exists; name another --output", source=target)
    rows = _read(run, options)
    warnings = row_warnings(rows, say)
    name = run.head.encoder if options.init is None else str(options.init)
    encoder = choose_encoder(name, [row.values["text"] for row in rows.train], run.head, say)
    warnings += encoder.warnings
    read = ReadTexts.of(encoder, _texts(rows.train), "train", say)
    num_classes = len(rows.labels)
    fitted = fit_head(
        run, read, rows.gold, num_classes=num_classes, observer=options.observer, say=say
    )
    with TemporaryDirectory() as scratch:
        best = best_head(
            run,
            BestHead(encoder=encoder, read=read, fitted=fitted),
            rows.gold,
            num_classes=num_classes,
            folder=Path(scratch),
            observer=options.observer,
            say=say,
        )
        write_head(run, rows, best, warnings, options)
    say(f"bundle written: {target}")
    return target


def write_head(
    run: FewLabelsRun,
    rows: LabelledSplits,
    best: BestHead,
    warnings: list[str],
    options: RunOptions,
) -> None:
    """Measure a head on dev, where there is one, and write its bundle."""
    encoder, fitted = best.encoder, best.fitted
    calibration, metrics = _measured(run, rows, encoder, fitted, warnings, options.say)
    metrics["training"] |= {
        "cost": fitted.cost,
        "word_weight": fitted.word_weight,
        "words": len(fitted.head.known.keys),
    }
    if best.trial is not None:
        metrics["training"]["tuning"] = best.trial.to_dict()
    _write(run, rows, encoder, fitted, calibration, metrics, Path(options.output))


def _read(run: FewLabelsRun, options: RunOptions) -> LabelledSplits:
    """The rows of all splits."""
    place, say = Path(options.data), options.say
    paths, dev_path = [place], None
    if not place.is_file():
        paths = [find_split(place, split) for split in run.data.train]
        has_dev = any(each.name.startswith(f"{run.data.dev}.") for each in place.iterdir())
        dev_path = find_split(place, run.data.dev) if has_dev else None

    def parsed(path: Path) -> list[Row]:
        say(f"reading {path}")
        found = list(read_rows(path, columns=COLUMNS, rename=options.rename))
        if not found:
            raise InputError("holds no rows", source=path)
        return found

    train = [row for path in paths for row in parsed(path)]
    dev = [] if dev_path is None else parsed(dev_path)
    if len(train) > MOST_ROWS:
        raise InputError(
            f"{len(train):,} rows are more than the {MOST_ROWS:,} that {run.name} fits at a time; "
            "train attention-bilstm or bert-classify on so many",
            source=place,
        )
    labels = found_labels({"train": train, "tune": []}, (), advice="")
    known = set(_texts(train))
    shared = sum(text in known for text in _texts(dev))
    return LabelledSplits(
        train=train,
        dev=dev,
        labels=labels,
        gold=_gold(train, labels),
        dev_gold=_gold(dev, labels),
        num_shared=shared,
    )


def _texts(rows: Sequence[Row]) -> list[str]:
    return [row.values["text"] for row in rows]


def _gold(rows: Sequence[Row], labels: Sequence[str]) -> Ids:
    found = []
    for row in rows:
        try:
            found.append(parse_class(row.values["label"], labels))
        except ValueError as error:
            raise InputError(str(error), source=row.source, row=row.number) from None
    return np.array(found, dtype=np.int64)


def row_warnings(rows: LabelledSplits, say: Say) -> list[str]:
    """What the rows say before anything is learnt, said and returned."""
    shown = ", ".join([*rows.labels[:9], *(["…"] if len(rows.labels) > 9 else [])])
    say(f"classes: {len(rows.labels)} ({shown})")
    counts = dict(zip(rows.labels, np.bincount(rows.gold).tolist(), strict=True))
    answered = [Answered(row.values["text"], row.values["label"], row.number) for row in rows.train]
    found = [contradictions(answered, "texts"), single_rows(counts, "texts")]
    if rows.num_shared:
        many = f"{rows.num_shared:,} of {len(rows.dev):,} dev texts"
        found.append(f"{many} also stand in the training data")
    warnings = [each for each in found if each is not None]
    for each in warnings:
        say(f"warning: {each}")
    return warnings


def _measured(
    run: FewLabelsRun,
    rows: LabelledSplits,
    encoder: HeadEncoder,
    fitted: FittedHead,
    warnings: list[str],
    say: Say,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The calibration, and what the bundle says of its quality."""
    search, scaling = fitted.search, fitted.scaling
    metrics: dict[str, Any] = {}
    calibration: dict[str, Any] = {}
    reasons: list[str | None] = []
    if search is None:
        line = "no label has two texts, so that nothing can be held out to measure or calibrate on"
        warnings = [*warnings, line]
        say(f"warning: {line}")
    else:
        gold = rows.gold[search.held]
        calibration = _calibration(scaling, search.logits, gold)
        metrics["tune"] = {"accuracy": search.best.accuracy, "n": len(gold)}
        reasons.append(_at_chance(search.best.accuracy, gold, "texts out of fold"))
    if rows.dev:
        probabilities = fitted.probabilities(ReadTexts.of(encoder, _texts(rows.dev), "dev", say))
        metrics["dev"] = ClassReport.of(rows.dev_gold, probabilities, rows.labels).to_dict()
        reasons.append(_at_chance(metrics["dev"]["accuracy"], rows.dev_gold, "dev"))
    failed = [each for each in reasons if each is not None]
    learnt = not failed if reasons else None
    facts = {
        "seed": run.training.seed,
        "encoder": encoder.name,
        "dev_rows_in_train": rows.num_shared,
        "learnt": learnt,
        "warnings": [*warnings, *([nothing_learnt(failed, ADVICE)] if failed else [])],
    }
    return calibration, {**metrics, "training": facts}


def _at_chance(found: float, gold: Ids, where: str) -> str | None:
    return at_chance("accuracy", found, float(np.bincount(gold).max() / len(gold)), where)


def _calibration(scaling: Calibration, logits: NDArray[Any], gold: Ids) -> dict[str, Any]:
    """As `calibration.json` holds it; fitted and measured on rows that no fit had seen."""
    before, after = (each.probabilities(logits) for each in (Calibration(), scaling))
    return {
        **asdict(scaling),
        "fitted_on": len(gold),
        "measured_on": len(gold),
        "ece_before": expected_calibration_error(before, gold),
        "ece_after": expected_calibration_error(after, gold),
    }


def _write(
    run: FewLabelsRun,
    rows: LabelledSplits,
    encoder: HeadEncoder,
    fitted: FittedHead,
    calibration: dict[str, Any],
    metrics: dict[str, Any],
    target: Path,
) -> None:
    bundle, base = encoder.bundle, encoder.base
    stored = bundle.read_weights()
    carried = {} if base else {f"{CARRIED}{name}": each for name, each in stored.items()}
    graphs = {} if base else {each.name: each.read_bytes() for each in bundle.path.glob("onnx/*")}
    config = BundleConfig(
        kind="classifier",
        model={
            "name": SENTENCE_HEAD,
            "config": {
                "output_size": len(rows.labels),
                "vocab_size": encoder.vocab_size,
                "window": encoder.texts.window,
                ENCODER: bundle.config.model,
            },
        },
        task={"name": "classify", "labels": list(rows.labels), "metric": "accuracy"},
        text=encoder.pipeline.config.to_dict(),
        library_version=__version__,
        base=base,
        base_fingerprint=fingerprint_of(bundle) if base else None,
    )
    card = few_labels_card(
        run, encoder, metrics, calibration, rows=len(rows.train), name=target.name
    )
    with TemporaryDirectory() as records:
        write_json(Path(records) / "run.json", run.to_dict())
        if fitted.search is not None:
            write_text(Path(records) / "search.csv", _table(fitted.search))
        write_bundle(
            target,
            config=config,
            tokenizer_json=encoder.pipeline.tokenizer.to_str(),
            weights={**fitted.head.to_weights(), **carried},
            metrics=metrics,
            card=card,
            calibration=calibration or None,
            graphs=graphs,
            records=records,
        )


def _table(search: HeadSearch) -> str:
    """All settings that were tried, as CSV."""
    lines = [asdict(each) for each in search.tried]
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, lines[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()
