"""A shard of rows to the bytes of a shard of answers, by a model that is opened once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from softquery.errors import ConfigError, InputError
from softquery.ray.bulk_work import BulkWork, VectorOptions, rows_together
from softquery.ray.shard_forms import ANSWER_COLUMNS, ANSWER_FORMS
from softquery.runtime.bulk import BulkAnswers, identity, stream_answers


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardAnswers:
    """What became of the rows of a shard.

    Attributes:
        contents: The file to be written.
        num_answered: Rows that it holds.
        num_cut: Inputs that were longer than the model's limit.
        bad: Rows that turned out to have no answer.
    """

    contents: bytes
    num_answered: int
    num_cut: int
    bad: list[InputError] = field(default_factory=list)


class ShardAnswerer(Protocol):
    """Answers shard after shard."""

    def answer(self, rows: Sequence[Any]) -> ShardAnswers:
        """The file of a shard that has rows."""


def open_answerer(work: BulkWork) -> ShardAnswerer:
    """Open the model of a run; it must be the driver's to the byte."""
    model = work.model.open()
    if identity(model)["model"] != work.identity["model"]:
        raise ConfigError(
            f"{model.bundle.path}: is not the same model as the driver's; "
            "install the same one on every machine"
        )
    if work.shard_rows % rows_together(work.model):
        raise ConfigError(
            f"shards of {work.shard_rows} rows: the model answers {rows_together(work.model)} "
            "rows together, of which a shard must be a multiple"
        )
    if work.vectors is None:
        return TextShards(model, work)
    return VectorShards(model, work.vectors, work.form)


class TextShards:
    """Answers in words and numbers.

    Args:
        model: Of a kind that answers files.
        work: The run.
    """

    def __init__(self, model: Any, work: BulkWork) -> None:
        self._answers = BulkAnswers(model, work.request)
        self._columns = ANSWER_COLUMNS[model.bundle.config.kind]
        self._form, self._skips = ANSWER_FORMS[work.form], work.skips

    def answer(self, rows: Sequence[Any]) -> ShardAnswers:
        """The answers that a single process would write for these rows."""
        told: list[str] = []
        bad = Unanswerable() if self._skips else None
        num_cut = stream_answers(self._answers, rows, told.append, bad)
        lines = "\n".join(told).split("\n") if told else []
        return ShardAnswers(
            contents=self._form(lines, self._columns),
            num_answered=len(lines),
            num_cut=num_cut,
            bad=[] if bad is None else bad.errors,
        )


class Unanswerable:
    """Rows that turn out to have no answer."""

    def __init__(self) -> None:
        self.errors: list[InputError] = []

    def add(self, error: InputError) -> None:
        """Note one row."""
        self.errors.append(error)

    def keep(self) -> None:
        """All rows of the shard have been seen."""


class VectorShards:
    """Vectors, in the files that a single process would write for these rows.

    Args:
        model: A sentence encoder, or an embedder of words in context.
        options: What of each vector is written.
        form: The ending of the file, without its dot.
    """

    def __init__(self, model: Any, options: VectorOptions, form: str) -> None:
        self._model, self._options, self._form = model, options, form

    def answer(self, rows: Sequence[Any]) -> ShardAnswers:
        """The vectors of these rows."""
        with TemporaryDirectory(prefix="softquery-") as folder:
            output = Path(folder) / f"shard.{self._form}"
            num_cut = self._write(rows, output)
            contents = output.read_bytes()
        return ShardAnswers(contents=contents, num_answered=len(rows), num_cut=num_cut)

    def _write(self, rows: Sequence[Any], output: Path) -> int:
        options: Any = self._options
        if self._model.bundle.config.kind == "sentence-encoder":
            from softquery.runtime.encode.matrix_output import encode_rows

            return encode_rows(
                self._model,
                rows,
                output,
                dimensions=options.dimensions,
                precision=options.precision,
            ).num_cut
        from softquery.runtime.embed.vector_output import embed_rows

        return embed_rows(
            self._model, rows, output, layers=options.layers, precision=options.precision
        ).num_cut
