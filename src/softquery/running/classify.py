"""Texts with a class each: rows with `text` and `label`."""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

from torch import nn

from softquery.data import Documents, Texts, encode_labels
from softquery.data.documents import MOST_WORDS
from softquery.errors import ConfigError, InputError, counted
from softquery.files import Row, find_split, read_rows
from softquery.recipes.run import ClassifySettings, Run
from softquery.running.adapter import Folder, Prepared, Say, SourceRows
from softquery.running.classify_plan import ClassifyPlan
from softquery.running.match import TAUGHT, found_labels
from softquery.runtime.classify.network import class_logits, packed
from softquery.runtime.fit_checks import limit_of, reading_of
from softquery.tasks import TextClassification
from softquery.text import Reading, TextPipeline, build_pipeline

COLUMNS = ("text", "label")


class ClassifyAdapter:
    """Classes of texts; see `softquery.running.adapter.TaskAdapter`."""

    kind: ClassVar[str] = "classifier"
    noun: ClassVar[str] = "texts"

    def read(
        self, folder: Folder, split: str, rename: Mapping[str, str] | None, say: Say
    ) -> list[Row]:
        """The rows of one split."""
        path = find_split(folder, split)
        say(f"reading {path}")
        rows = list(read_rows(path, columns=COLUMNS, optional=(TAUGHT,), rename=rename))
        if not rows:
            raise InputError("holds no rows", source=path)
        return rows

    def group(self, row: Row) -> Hashable:
        """Equal texts stay together."""
        return row.values["text"]

    def identity(self, row: Row) -> Hashable:
        """The text."""
        return row.values["text"]

    def written(self, row: Row) -> str:
        """All columns that are read."""
        return "\t".join(row.values[name] for name in (*COLUMNS, TAUGHT) if name in row.values)

    def settle(self, run: Run, source: SourceRows, say: Say) -> Run:
        """Without a task, the classes are those of the training rows."""
        if run.text.boundaries and (run.elmo is not None or _reading(run).max_sentences):
            raise ConfigError(
                f"text.boundaries must be false: {run.name} reads sentences without their ends"
            )
        if _reading(run).max_sentences and run.text.max_tokens > MOST_WORDS:
            raise ConfigError(
                f"text.max_tokens must be at most {MOST_WORDS:,} words of a sentence, "
                f"got {run.text.max_tokens:,}"
            )
        if run.elmo is None and _reading(run).tokens == "words":
            raise ConfigError("model.max_characters is a biLM's; leave it at 0 where there is none")
        if run.task is not None:
            return run
        labels = found_labels(source, advice="")
        shown = ", ".join([*labels[:9], *(["…"] if len(labels) > 9 else [])])
        say(f"classes: {len(labels)} ({shown})")
        return replace(run, task=class_task(run, labels))

    def build_pipeline(self, run: Run, source: SourceRows) -> TextPipeline:
        """The words of all texts."""
        texts = (row.values["text"] for row in source.train)
        size, count = run.vocabulary.size, run.vocabulary.min_count
        return build_pipeline(texts, run.text, vocab_size=size, min_count=count)

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, taught: bool = False
    ) -> Texts | Documents:
        """Texts as numbers, and what was cut."""
        reading, pipeline = _reading(prepared.run), prepared.pipeline
        label = encode_labels(
            rows,
            parse_label=prepared.task.parse_label,
            parse_distribution=prepared.task.parse_distribution if taught else None,
        )
        read = reading.read([row.values["text"] for row in rows], pipeline)
        num_cut = sum(each.num_cut > 0 for each in read)
        if num_cut:
            many = counted(num_cut, "text was", "texts were")
            say(f"{name}: {many} cut at {limit_of(reading, pipeline)}")
        if num_empty := sum(not any(each.sentences) for each in read):
            say(f"{name}: {counted(num_empty, 'text holds', 'texts hold')} no word")
        made = packed(
            [each.sentences for each in read],
            reading,
            pipeline,
            max_characters=getattr(prepared.run.model, "max_characters", 0),
        )
        return replace(made, label=label, num_cut=num_cut)

    def num_taught(self, rows: list[Row], train: Texts | Documents) -> int:
        """All of them."""
        return len(rows)

    def plan(
        self, prepared: Prepared, train: Texts | Documents, tune: Texts | Documents
    ) -> ClassifyPlan:
        """Shuffled batches, and the metric of what was held back."""
        return ClassifyPlan.of(prepared.run, prepared.task, train, tune)

    def report(
        self, prepared: Prepared, model: nn.Module, dev: Texts | Documents
    ) -> dict[str, Any]:
        """Accuracy and its kin."""
        probabilities = prepared.task.probabilities(class_logits(model, dev))
        gold = dev.label.cpu().numpy()  # type: ignore[union-attr]
        found: dict[str, Any] = prepared.task.report(gold, probabilities.numpy())
        return found


def class_task(run: Run, labels: tuple[str, ...]) -> TextClassification:
    """The task of a run whose classes are these."""
    settings = run.classes or ClassifySettings()
    try:
        return TextClassification(
            labels=labels,
            metric=settings.metric,
            smoothing=settings.smoothing,
            consistency=settings.consistency,
        )
    except ValueError as error:
        raise ConfigError(f"classes: {error}") from None


def _reading(run: Run) -> Reading:
    return reading_of(asdict(run.model))
