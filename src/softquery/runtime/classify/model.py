"""A bundle that says what a text is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.answers import Calibration, Classified, parse_class
from softquery.answers.label_names import label_names
from softquery.bundle import Bundle
from softquery.errors import BundleError
from softquery.explain import TextWeights
from softquery.measure import ClassMetric
from softquery.runtime.bert.backend import BertClassifyBackend, is_bert, open_bert
from softquery.runtime.call_checks import listed_texts, one_text
from softquery.runtime.classify.backend import (
    ClassifyBackend,
    Floats,
    is_sentence_head,
    limit_of,
)
from softquery.runtime.classify.text_reasons import contributions, text_reasons
from softquery.runtime.fit_checks import (
    fitting_calibration,
    fitting_pipeline,
    fitting_reading,
)
from softquery.runtime.given_texts import Texts, in_view
from softquery.runtime.kinds import check_kind, check_task
from softquery.runtime.loading import Backend, Source, choose_backend, needs_torch, opened
from softquery.runtime.model_repr import model_repr
from softquery.runtime.opened_by import opened_by
from softquery.text import TextPipeline, Tokens

CHUNK = 256
"""Texts of a bulk call that are answered together; results depend on nothing outside of a chunk."""


@opened_by("softquery.load")
class Classifier:
    """Says what a text is: one of the classes that it was trained on.

    Args:
        bundle: The model folder.
        pipeline: Of the bundle.
        backend: What computes its logits.
    """

    chunk = CHUNK

    def __init__(self, bundle: Bundle, pipeline: TextPipeline, backend: ClassifyBackend) -> None:
        self.bundle = bundle
        self.pipeline = pipeline
        self.reading = fitting_reading(bundle)
        self.labels: tuple[str, ...] = tuple(bundle.config.task["labels"])
        self.calibration: Calibration = fitting_calibration(bundle)
        self.backend = backend

    def __repr__(self) -> str:
        return model_repr(self, labels=self.labels)

    @property
    def metric(self) -> ClassMetric:
        """The metric by which evaluation and the accuracy gate judge it."""
        found: ClassMetric = self.bundle.config.task.get("metric", "accuracy")
        return found

    @property
    def report(self) -> dict[str, Any] | None:
        """What a run on a file found and measured, as its `report.json` has it; None without."""
        return self.bundle.report

    @property
    def limit(self) -> str:
        """The length at which texts are cut, as it is told to people."""
        return limit_of(self.reading, self.pipeline)

    @property
    def most_tokens(self) -> int:
        """The most tokens that it reads of a text."""
        return self.pipeline.config.max_tokens * (self.reading.max_sentences or 1)

    def parse_label(self, text: str) -> int:
        """A gold label as a class id; `ValueError` where it is not known."""
        return parse_class(text, self.labels)

    def logits(self, texts: Texts) -> Floats:
        """One row per text, before any temperature."""
        texts = listed_texts(texts)
        parts = [np.empty((0, len(self.labels)), dtype=np.float32)]
        for start in range(0, len(texts), CHUNK):
            read = self.reading.encode(texts[start : start + CHUNK], self.pipeline)
            parts.append(self.backend.logits([each.sentences for each in read]))
        return np.concatenate(parts)

    def probabilities(self, texts: Texts) -> NDArray[np.float64]:
        """One row per text: a calibrated distribution over the labels."""
        return self.calibration.probabilities(self.logits(texts))

    def predict_proba(self, texts: Texts) -> NDArray[np.float64]:
        """As scikit-learn spells `probabilities`: rows of texts, columns in the order of labels."""
        return self.probabilities(texts)

    def decide(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The label ids of the answers: by the saved threshold, else the likeliest."""
        return self.calibration.decide(probabilities)

    def predict(self, texts: Texts, *, progress: bool = False) -> list[Classified]:
        """An answer for each text; `progress` shows how many there are already."""
        return in_view(
            listed_texts(texts),
            lambda some: [self._answer(row) for row in self.probabilities(some).tolist()],
            "texts",
            chunk=CHUNK,
            progress=progress,
        )

    def explain(self, text: str, *, label: str | None = None) -> TextWeights:
        """How much each word had to say, and what the answer owes to it.

        Args:
            text: The text.
            label: Whose `reasons` are given; by default those of the answer.
        """
        read = self.reading.encode([one_text(text, "the text")], self.pipeline)[0]
        found = self.backend.weigh(read.sentences)
        row = self.calibration.probabilities(found.logits[None])
        answer = self._answer(row[0].tolist())
        column = int(self.decide(row)[0]) if label is None else self.parse_label(label)
        words = tuple(map(tuple, self.reading.shown(text, self.pipeline)))
        return TextWeights(
            text=text,
            sentences=words,
            word_weights=tuple(found.word_weights),
            sentence_weights=found.sentence_weights,
            label=answer.label,
            score=answer.score,
            probabilities=answer.probabilities,
            model=self.bundle.path.name,
            reasons=text_reasons(self, text, read.sentences, column),
            contributions=contributions(self, words, found, float(row[0, column]), column),
            label_names=label_names(self.bundle.config.task, self.labels),
        )

    def probabilities_of_read(self, texts: Sequence[Tokens]) -> NDArray[np.float64]:
        """As `probabilities`, for texts that `reading` has cut already."""
        return self.calibration.probabilities(self.backend.logits(texts))

    def num_cut(self, texts: Texts) -> int:
        """How many of the texts are longer than the model's limit, and are cut to it."""
        long = [
            text
            for text in listed_texts(texts)
            if not self.reading.surely_fits(text, self.pipeline)
        ]
        return sum(each.num_cut > 0 for each in self.reading.encode(long, self.pipeline))

    def _answer(self, row: list[float]) -> Classified:
        best = int(self.decide(np.array([row]))[0])
        label = self.labels[best] if self.calibration.is_sure(row[best]) else None
        return Classified(label, row[best], dict(zip(self.labels, row, strict=True)))


def load_classifier(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Classifier:
    """Open a classifying bundle; the arguments are those of `softquery.load`."""
    bundle = opened(name_or_path)
    check_kind(bundle, "classifier")
    check_task(bundle)
    reading = fitting_reading(bundle)
    pipeline = fitting_pipeline(bundle)
    chosen: Any
    if is_bert(bundle):
        chosen = BertClassifyBackend(open_bert(bundle, backend, threads, device))
        return Classifier(bundle, pipeline, chosen)
    if is_sentence_head(bundle):
        from softquery.runtime.classify.sentence_head import open_sentence_head

        return Classifier(bundle, pipeline, open_sentence_head(bundle, backend, threads, device))
    if choose_backend(bundle, backend, threads, device) == "onnx":
        from softquery.runtime.classify.onnx import OnnxClassifyBackend
        from softquery.runtime.inner.inner_weights import check_spelling
        from softquery.runtime.inner.onnx import open_inner

        check_spelling(bundle, "classifier")
        # Bulk runs go on to the same bytes, so that what was read before must not matter.
        context = open_inner(bundle, threads, batching="alone")
        if (reading.tokens == "words") != (context is not None):
            raise BundleError(
                f"{bundle.path / 'config.json'}: max_characters is for a classifier with ELMo "
                "inside, which spells words"
            )
        chosen = OnnxClassifyBackend(bundle, threads, context)
    else:
        with needs_torch():
            from softquery.runtime.classify.torch import TorchClassifyBackend
        chosen = TorchClassifyBackend(bundle, pipeline, device, threads)
    return Classifier(bundle, pipeline, chosen)
