"""What is known of the shipped taggers, classifiers and readers before they are measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from softquery.bundle import Bundle
from softquery.errors import InputError
from softquery.export import ExportReport, export_classifier, export_reader, export_tagger
from softquery.files import (
    QUESTION_FORMS,
    TAGGED_FORMS,
    find_split,
    read_questions,
    read_rows,
    read_tagged,
)
from softquery.runtime import load_classifier, load_tagger
from softquery.runtime.classify.evaluate import evaluate_classifier
from softquery.runtime.read.evaluate import evaluate_reader
from softquery.runtime.read.model import load_reader
from softquery.runtime.tag.evaluate import evaluate_tagger

Rows = list[Any]


class Exporter(Protocol):
    """Writes an exported bundle, int8 behind the gate."""

    def __call__(
        self, bundle: Bundle, output: Path, *, int8: bool, limit: float, rows: Sequence[Any]
    ) -> ExportReport:
        """What was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """How models of a kind are read for, exported, and measured without torch."""

    noun: str
    read: Callable[[Path], Rows]
    """The rows of a file."""
    find: Callable[[Path, str], Path]
    """The file of a split."""
    export: Exporter
    evaluate: Callable[[Bundle, Rows], Any]
    """What has a `report()`, and `slices(by)`."""

    def split(self, data: Path, name: str) -> Rows:
        """The rows of one split of a folder; there must be some."""
        return self.file(self.find(data, name))

    def file(self, path: Path) -> Rows:
        """The rows of one file; there must be some."""
        rows = self.read(path)
        if not rows:
            raise InputError("holds no rows", source=path)
        return rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """One model, as its card will tell."""

    kind: str
    metric: str
    """What seeds are chosen by, and what is reported first."""
    dev: str
    """What dev is called."""
    purpose: str
    largest_mb: float
    gate: float
    """Points that int8 may cost."""
    limits: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    """Further metrics of the card."""
    labels: tuple[str, ...] = ()
    slices: str = ""
    """By what to look for its weakest side."""


KINDS = {
    "classifier": Kind(
        noun="texts",
        read=lambda path: list(read_rows(path, columns=("text", "label"))),
        find=lambda data, name: find_split(data, name),
        export=export_classifier,
        evaluate=lambda bundle, rows: evaluate_classifier(
            load_classifier(bundle, backend="onnx"), rows
        ),
    ),
    "reader": Kind(
        noun="questions",
        read=lambda path: list(read_questions(path)),
        find=lambda data, name: find_split(data, name, forms=QUESTION_FORMS),
        export=export_reader,
        evaluate=lambda bundle, rows: evaluate_reader(load_reader(bundle, backend="onnx"), rows),
    ),
    "tagger": Kind(
        noun="sentences",
        read=lambda path: list(read_tagged(path)),
        find=lambda data, name: find_split(data, name, forms=TAGGED_FORMS),
        export=export_tagger,
        evaluate=lambda bundle, rows: evaluate_tagger(load_tagger(bundle, backend="onnx"), rows),
    ),
}

HEADS = {
    "sentiment-en": Head(
        kind="classifier",
        metric="accuracy",
        dev="SST-2 dev",
        purpose="Says whether an English sentence of opinion is negative or positive.",
        largest_mb=1.5,
        gate=0.5,
        numbers=("macro_f1", "auc"),
        labels=("negative", "positive"),
        slices="label",
        limits=(
            "It has learnt from film reviews alone; opinions of other things, and in other words, "
            "are harder, and were not measured.",
            "There is no neutral answer: a plain statement of fact gets one of the two labels, and "
            "its score says nothing about that.",
            "What a no does it has learnt from 3,000 plain sentences of our own making; how it "
            "reads others, of new words, stands above. In longer sentences expect more mistakes.",
            "Irony, and praise of one thing by blame of another, were not measured; expect it to "
            "misread them.",
            "Made for sentences and short texts; at most 256 words are read, the rest is cut and "
            "that is told.",
            "Three quarters of the training sentences are endings of longer reviews, labelled by "
            "the stars of the whole review, so that some of these labels are wrong.",
            "English alone: other languages are answered as if they were English.",
        ),
    ),
    "read-en": Head(
        kind="reader",
        metric="f1",
        dev="SQuAD 1.1 dev, 6 articles",
        purpose="Finds the answer to an English question in a text: a slice of it, word for word.",
        largest_mb=2.0,
        gate=0.5,
        numbers=("exact_match",),
        slices="question",
        limits=(
            "It always answers, even where the text holds no answer: it has never met such a "
            "question. A low score is a hint, but no probability.",
            "Answers are at most 20 words in one piece; nothing is counted, compared or put "
            "together from several places.",
            "It has learnt from paragraphs of Wikipedia and questions asked about them by people "
            "who saw them; questions in other words than the text's are harder.",
            "A text of more than 400 words is read in overlapping pages, each by itself.",
            "A small model: on the same questions a fine-tuned BERT answers far better.",
            "English alone: other languages are read as if they were English.",
        ),
    ),
    "tagger-en": Head(
        kind="tagger",
        metric="accuracy",
        dev="UD English EWT 2.15 dev",
        purpose="Says what part of speech every word of an English text is: the 17 universal "
        "ones (UPOS).",
        largest_mb=4.0,
        gate=0.2,
        limits=(
            "It has learnt from web text of about 2000 to 2015; other kinds of text are harder.",
            "Words are cut as the treebank cuts them where punctuation and contractions stand "
            "(do n't); text in capitals, or without any, is harder.",
            "It tags English alone, and answers for any other language as if it were English.",
        ),
    ),
}
