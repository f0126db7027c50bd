"""Fine-tune the encoder under a head, and keep that where cross-validation says that it pays.

Every fold is answered by an encoder that was tuned without it, and by a head on that one. Needs
torch for the tuning; what comes of it is exported, and needs none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import read_bundle, write_bundle
from softquery.files import Row
from softquery.recipes.few_labels import FewLabelsRun
from softquery.running.few_labels.head_encoder import HeadEncoder
from softquery.running.few_labels.head_fit import FittedHead, ReadTexts, folds_of, refit_head
from softquery.running.few_labels.head_search import HeadFeatures, HeadSearch, search_by_fold
from softquery.running.run_options import Say
from softquery.runtime.classify.sentence_head import open_vectors
from softquery.runtime.classify.word_counts import WordCounts

if TYPE_CHECKING:
    from softquery.running.few_labels.encoder_tuner import EncoderTuner
    from softquery.training import Observer

Ids = NDArray[np.int64]
MARGIN = 0.5
"""Standard errors by which a tuned encoder must be right more often, as a head on pairs must."""
NUM_PAIRS = 400
"""Pairs of texts by which int8 is judged."""
MOST_LOST = 0.5
"""Points of AUC that int8 may cost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningTrial:
    """What fine-tuning brought on rows out of fold."""

    frozen: HeadSearch
    tuned: HeadSearch
    more: int
    """Rows that only the tuned encoder is right about."""
    fewer: int
    """Rows that only the frozen one is right about."""

    @property
    def pays(self) -> bool:
        """Whether more rows are right, beyond noise.

        How likely they are is not asked: vectors that were bent are surer than they may be, which
        the temperature mends only in the mean.
        """
        return self.more - self.fewer > MARGIN * math.sqrt(self.more + self.fewer)

    @classmethod
    def of(cls, frozen: HeadSearch, tuned: HeadSearch, gold: Ids) -> "TuningTrial":
        """Compare two searches on the same rows."""
        before, after = (each.logits.argmax(axis=1) == gold for each in (frozen, tuned))
        more, fewer = int((after & ~before).sum()), int((before & ~after).sum())
        return cls(frozen=frozen, tuned=tuned, more=more, fewer=fewer)

    def to_dict(self) -> dict[str, Any]:
        """As `metrics.json` holds it."""
        return {
            "accuracy_frozen": self.frozen.best.accuracy,
            "accuracy_tuned": self.tuned.best.accuracy,
            "kept": self.pays,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class BestHead:
    """The head that is kept, on the encoder as it was or as it was tuned."""

    encoder: HeadEncoder
    read: ReadTexts
    fitted: FittedHead
    trial: TuningTrial | None = None
    """None where fine-tuning was not tried."""

    @property
    def is_tuned(self) -> bool:
        """Whether the encoder was fine-tuned."""
        return self.trial is not None and self.trial.pays


def best_head(
    run: FewLabelsRun,
    plain: BestHead,
    gold: Ids,
    *,
    num_classes: int,
    folder: Path,
    observer: "Observer",
    say: Say,
) -> BestHead:
    """Try fine-tuning where the run asks for it; what is not tried, or not kept, is told.

    Args:
        run: The recipe.
        plain: The frozen encoder, the rows as it reads them, and the head on it.
        gold: Their class ids.
        num_classes: The number of classes.
        folder: Where the tuned encoder may lie until its bundle is written.
        observer: Watches the folds.
        say: Receives what came of it.
    """
    if run.tuning.when == "never":
        return plain
    reason = _against(run, plain, len(gold))
    if reason is not None:
        say(f"fine-tuning was not tried: {reason}")
        return plain
    from softquery.running.few_labels.encoder_tuner import EncoderTuner

    tuner = EncoderTuner(plain.encoder, run.tuning, run.training.seed)
    found = _searched(run, tuner, plain.read, gold, num_classes, observer)
    frozen = plain.fitted.search
    if found is None or frozen is None:
        say("fine-tuning was given up")
        return plain
    trial = TuningTrial.of(frozen, found, gold[found.held])
    compared = f"accuracy out of fold {found.best.accuracy:.4f}, frozen {frozen.best.accuracy:.4f}"
    both = replace(plain, trial=trial)
    if not trial.pays:
        say(f"fine-tuning does not pay and is not kept: {compared}")
        return both
    say(f"fine-tuning pays and is kept: {compared}")
    tuner.tune(plain.read.ids, gold)
    encoder = _exported(tuner, plain.encoder, plain.read.texts, gold, folder, run.training.seed)
    read = ReadTexts.of(encoder, plain.read.texts, "train", lambda line: None)
    fitted = refit_head(read, gold, found, num_classes=num_classes)
    return replace(both, encoder=encoder, read=read, fitted=fitted)


def _against(run: FewLabelsRun, plain: BestHead, num_rows: int) -> str | None:
    """Why fine-tuning is not to be tried; None where it is."""
    if num_rows < run.tuning.least_rows:
        return f"{num_rows:,} rows cannot tell whether it pays, {run.tuning.least_rows:,} can"
    if num_rows > run.tuning.most_rows:
        return (
            f"of more than {run.tuning.most_rows:,} rows recipes such as bert-classify learn more"
        )
    if plain.fitted.search is None:
        return "no label has two texts"
    try:
        import onnx  # noqa: F401

        from softquery.running.few_labels import encoder_tuner  # noqa: F401
    except ImportError:
        return 'torch is not installed: pip install "softquery[train]"'
    return None


def _searched(
    run: FewLabelsRun,
    tuner: "EncoderTuner",
    read: ReadTexts,
    gold: Ids,
    num_classes: int,
    observer: "Observer",
) -> HeadSearch | None:
    """Cross-validate; None where the observer has ended it."""
    some, folds = folds_of(run, read.texts, gold)
    part, labels = read.some(some), gold[some]
    known = WordCounts.of(part.words)

    def features_of(fold: int) -> HeadFeatures:
        inside = np.flatnonzero(folds != fold)
        tuner.tune([part.ids[row] for row in inside.tolist()], labels[inside])
        return part.features(known, tuner.vectors(part.ids))

    observer.begin(int(folds.max()) + 1, 0)
    found = search_by_fold(
        features_of,
        labels,
        folds,
        run.head,
        num_classes=num_classes,
        advance=lambda done: observer.step(done, {}),
    )
    return None if found is None else replace(found, held=some[found.held])


def _exported(
    tuner: "EncoderTuner",
    encoder: HeadEncoder,
    texts: Sequence[str],
    gold: Ids,
    folder: Path,
    seed: int,
) -> HeadEncoder:
    """The tuned encoder as int8 with its graphs, as a head's bundle will hold it."""
    from softquery.export.encode import export_sentence_encoder

    bundle = encoder.bundle
    trained = write_bundle(
        folder / "trained",
        config=bundle.config,
        tokenizer_json=bundle.tokenizer_path.read_text(encoding="utf-8"),
        weights=tuner.weights(),
        metrics={},
        card=f"# {encoder.name}\n",
    )
    report = export_sentence_encoder(
        read_bundle(trained),
        folder / "exported",
        int8=True,
        limit=MOST_LOST,
        rows=_pairs(texts, gold, seed),
    )
    exported = read_bundle(report.bundle)
    return replace(
        encoder,
        bundle=exported,
        base=None,
        state="fine-tuned",
        texts=replace(encoder.texts, encoder=open_vectors(exported)),
    )


def _pairs(texts: Sequence[str], gold: Ids, seed: int) -> list[Row]:
    """Pairs of texts, half of them of one label, by which int8 is judged."""
    generator = np.random.default_rng(seed)
    found: list[Row] = []
    while len(found) < NUM_PAIRS:
        first = int(generator.integers(len(texts)))
        is_same = len(found) % 2 == 0
        others = np.flatnonzero((gold == gold[first]) == is_same)
        second = int(generator.choice(others))
        values = {"sentence1": texts[first], "sentence2": texts[second], "label": str(int(is_same))}
        found.append(Row(values=values, source="train", number=len(found) + 1))
    return found
