"""The one table of kinds: what a bundle is, and what every verb does with it. Needs no torch.

A bundle's `config.json` names its kind. Whatever depends on it is looked up here: `softquery.load`,
the bulk verbs, `evaluate`, `calibrate`, `export`, and the checks of a bundle that is opened. What
is heavy is named by its place (`Lazy`) and imported when it is needed, so that this module imports
no model; exporters belong to a layer above.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from softquery.bundle import Bundle
from softquery.bundle.card import EXAMPLES, CardExample
from softquery.errors import BundleError
from softquery.runtime import task_rows
from softquery.runtime.fit_checks import (
    any_width,
    num_classes,
    num_ends,
    num_grades,
    num_labels,
    num_outputs_of_a_generator,
    num_tags,
)
from softquery.runtime.task_rows import BulkRows, LabelledRows


@dataclass(frozen=True, slots=True)
class Lazy:
    """A function or a class by its place, imported when it is asked for.

    >>> Lazy("json:dumps").get()([1])
    '[1]'
    """

    place: str
    """`module:name`."""

    def get(self) -> Any:
        """Import it."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


TaskCheck = Callable[[dict[str, object]], int | None]
"""How many outputs a model needs for a task's settings, None where it may have any number; a
`ValueError` refuses the settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A row of the table.

    Attributes:
        name: As `config.json` spells it.
        noun: What a bundle of this kind is called, with its article.
        verb: The command that answers with it.
        model: Its public class.
        opener: Opens a bundle; takes what `softquery.load` takes.
        example: How its card shows it at work.
        exporter: Writes ONNX graphs; None where there is nothing to export.
        gate: Points, or per cent, that int8 may cost unless the user says otherwise; None where
            the exporter decides by the task.
        gate_argument: What the exporter calls the rows for its gate.
        labelled: Rows to measure on; None where a bundle of this kind is not evaluated.
        evaluator: Takes an opened model and labelled rows; for a kind that is `measured_on_text`, a
            bundle, a file and a renaming of its columns.
        measured_on_text: Whether it is measured by how well it predicts a plain text.
        calibrator: Fits probabilities on labelled rows; None where there are none to fit.
        bulk: Rows to be answered into a file; None where there is no such verb.
        tasks: The tasks that a bundle of this kind may have, each with what checks its settings.
        bert: The model's name where a BERT does the task.
    """

    name: str
    noun: str
    verb: str
    model: Lazy
    opener: Lazy
    example: CardExample
    exporter: Lazy | None = None
    gate: float | None = 0.5
    gate_argument: str = "rows"
    labelled: LabelledRows | None = None
    evaluator: Lazy | None = None
    measured_on_text: bool = False
    calibrator: Lazy | None = None
    bulk: BulkRows | None = None
    tasks: Mapping[str, TaskCheck] = field(default_factory=dict)
    bert: str | None = None


_ROWS = (
    Kind(
        name="matcher",
        noun="a matcher",
        verb="match",
        model=Lazy("softquery.runtime.match.model:Matcher"),
        opener=Lazy("softquery.runtime.match.model:load_matcher"),
        example=EXAMPLES["matcher"],
        exporter=Lazy("softquery.export.match:export_matcher"),
        labelled=task_rows.LABELLED_PAIRS,
        evaluator=Lazy("softquery.runtime.match.evaluate:evaluate_matcher"),
        calibrator=Lazy("softquery.runtime.calibrate:fit_calibration"),
        bulk=task_rows.PAIRS_TO_MATCH,
        tasks={"match": num_labels, "grade": num_grades},
        bert="bert-matcher",
    ),
    Kind(
        name="embedder",
        noun="an embedder",
        verb="embed",
        model=Lazy("softquery.runtime.embed.model:ContextEmbedder"),
        opener=Lazy("softquery.runtime.embed.model:open_embedder"),
        example=EXAMPLES["embedder"],
        exporter=Lazy("softquery.export.embed:export_embedder"),
        gate_argument="texts",
        labelled=task_rows.RUNNING_TEXT,
        evaluator=Lazy("softquery.runtime.embed.evaluate:evaluate_perplexity"),
        measured_on_text=True,
    ),
    Kind(
        name="encoder",
        noun="an encoder",
        verb="embed",
        model=Lazy("softquery.runtime.embed.piece_embedder:PieceEmbedder"),
        opener=Lazy("softquery.runtime.embed.piece_embedder:open_pieces"),
        example=EXAMPLES["encoder"],
        exporter=Lazy("softquery.export.bert:export_encoder"),
        gate_argument="lines",
        labelled=task_rows.DOCUMENTS,
        evaluator=Lazy("softquery.runtime.embed.evaluate:evaluate_masked"),
        measured_on_text=True,
        bulk=task_rows.TEXTS_TO_FILL,
    ),
    Kind(
        name="sentence-encoder",
        noun="a sentence encoder",
        verb="embed",
        model=Lazy("softquery.runtime.encode.model:SentenceEncoder"),
        opener=Lazy("softquery.runtime.encode.model:load_sentence_encoder"),
        example=EXAMPLES["sentence-encoder"],
        exporter=Lazy("softquery.export.encode:export_sentence_encoder"),
        labelled=task_rows.LABELLED_PAIRS,
        evaluator=Lazy("softquery.runtime.encode.evaluate:evaluate_sentence_encoder"),
        tasks={"encode": any_width},
    ),
    Kind(
        name="tagger",
        noun="a tagger",
        verb="tag",
        model=Lazy("softquery.runtime.tag.model:Tagger"),
        opener=Lazy("softquery.runtime.tag.model:load_tagger"),
        example=EXAMPLES["tagger"],
        exporter=Lazy("softquery.export.tag:export_tagger"),
        labelled=task_rows.TAGGED_SENTENCES,
        evaluator=Lazy("softquery.runtime.tag.evaluate:evaluate_tagger"),
        bulk=task_rows.TEXTS_TO_TAG,
        tasks={"tag": num_tags},
        bert="bert-tagger",
    ),
    Kind(
        name="classifier",
        noun="a classifier",
        verb="classify",
        model=Lazy("softquery.runtime.classify.model:Classifier"),
        opener=Lazy("softquery.runtime.classify.model:load_classifier"),
        example=EXAMPLES["classifier"],
        exporter=Lazy("softquery.export.classify:export_classifier"),
        labelled=task_rows.LABELLED_TEXTS,
        evaluator=Lazy("softquery.runtime.classify.evaluate:evaluate_classifier"),
        calibrator=Lazy("softquery.runtime.calibrate:fit_calibration"),
        bulk=task_rows.TEXTS_TO_CLASSIFY,
        tasks={"classify": num_classes},
        bert="bert-classifier",
    ),
    Kind(
        name="generator",
        noun="a generator",
        verb="generate",
        model=Lazy("softquery.runtime.generate.model:Generator"),
        opener=Lazy("softquery.runtime.generate.model:load_generator"),
        example=EXAMPLES["generator"],
        exporter=Lazy("softquery.export.generate:export_generator"),
        gate=None,
        labelled=task_rows.SOURCES_WITH_TARGETS,
        evaluator=Lazy("softquery.runtime.generate.evaluate:evaluate_generator"),
        bulk=task_rows.SOURCES_TO_GENERATE_FROM,
        tasks={"generate": num_outputs_of_a_generator},
    ),
    Kind(
        name="reader",
        noun="a reader",
        verb="read",
        model=Lazy("softquery.runtime.read.model:Reader"),
        opener=Lazy("softquery.runtime.read.model:load_reader"),
        example=EXAMPLES["reader"],
        exporter=Lazy("softquery.export.read:export_reader"),
        labelled=task_rows.QUESTIONS,
        evaluator=Lazy("softquery.runtime.read.evaluate:evaluate_reader"),
        calibrator=Lazy("softquery.runtime.calibrate:fit_abstention"),
        bulk=task_rows.QUESTIONS_TO_READ,
        tasks={"read": num_ends},
        bert="bert-reader",
    ),
    Kind(
        name="vectors",
        noun="word vectors",
        verb="vectors",
        model=Lazy("softquery.runtime.vectors.model:WordVectors"),
        opener=Lazy("softquery.runtime.vectors.model:load_vectors"),
        example=EXAMPLES["vectors"],
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}
"""Every kind of bundle by its name in `config.json`."""


def kind_of(bundle: Bundle) -> Kind:
    """The row of a bundle's kind; a kind that the table lacks is refused by name."""
    name = bundle.config.kind
    if name not in KINDS:
        raise BundleError(
            f"{bundle.path}: a bundle of kind {name!r} cannot be opened (known: {', '.join(KINDS)})"
        )
    return KINDS[name]


def check_kind(bundle: Bundle, name: str) -> None:
    """Refuse a bundle of another kind than the one that is needed."""
    if bundle.config.kind != name:
        raise BundleError(
            f"{bundle.path}: expected {KINDS[name].noun}, found kind {bundle.config.kind!r}"
        )


def check_task(bundle: Bundle) -> None:
    """Refuse a task that the kind lacks, or that the model's outputs cannot answer."""
    task, tasks = bundle.config.task, kind_of(bundle).tasks
    place = bundle.path / "config.json"
    if task["name"] not in tasks:
        raise BundleError(f"{place}: unknown task {task['name']!r} (known: {', '.join(tasks)})")
    try:
        num_answers = tasks[task["name"]](task)
    except ValueError as error:
        raise BundleError(f"{place}: {error}") from None
    num_outputs = bundle.config.model["config"].get("output_size")
    if num_answers is not None and num_outputs != num_answers:
        raise BundleError(
            f"{place}: the model has {num_outputs} outputs, but its task needs {num_answers}"
        )
