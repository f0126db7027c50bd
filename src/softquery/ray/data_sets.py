"""The bulk verbs over a data set of Ray: its rows with their answers beside them, lazily.

A row of a batch is parsed as a line of JSONL would be, so that what is refused, and why, is the
same as everywhere. Batches are Ray's: the last digits of a score may differ from those of a file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from softquery.errors import ConfigError, InputError
from softquery.files.cell_text import to_text
from softquery.ray.bulk_files import as_actors
from softquery.ray.bulk_work import (
    BulkWork,
    ModelChoice,
    VectorOptions,
    bulk_rows,
    rows_together,
    settled,
)
from softquery.ray.cluster import Actors
from softquery.ray.shard_forms import ANSWER_COLUMNS, answer_table
from softquery.runtime.kinds import KINDS

OnError = Literal["stop", "mark"]
Columns = Mapping[str, str] | None
BATCHES = 4
"""Rows of a batch, in times of those that a model answers together."""
INPUTS: dict[str, tuple[str, ...]] = {
    "matcher": ("sentence1", "sentence2"),
    "classifier": ("text",),
    "tagger": ("text", "tokens"),
    "reader": ("id", "question", "context"),
    "generator": ("source",),
    "encoder": ("text",),
}
"""What of an answer repeats the row, which has it already."""
ERROR = "error"
"""The column that says why a row has no answer."""
SOURCE = "the data set"


def answered(
    dataset: Any,
    kind: str,
    model: ModelChoice | str,
    *,
    columns: Columns = None,
    on_error: OnError = "stop",
    request: object | None = None,
    actors: Actors | int | None = None,
) -> Any:
    """A data set with the answers of a model beside its rows.

    Args:
        dataset: Of Ray Data.
        kind: What the model must be.
        model: A name that every machine knows, or a folder that every machine sees.
        columns: Our column names to the data set's.
        on_error: `stop` at a bad row, or `mark` it: its answer is empty, and `error` says why.
        request: How a generator searches, or which words are wanted for masks.
        actors: Who answers, or how many of them; by default one per CPU but one, which is left to
            whatever else the data set needs.
    """
    if on_error not in ("stop", "mark"):
        raise ConfigError(f"on_error must be stop or mark, got {on_error!r:.40}")
    verb = "fill" if kind == "encoder" else KINDS[kind].verb
    choice, team = _settled(model, verb, kind, actors)
    work = BulkWork(
        model=choice,
        identity={},
        output="",
        form="",
        shard_rows=BATCHES * rows_together(choice),
        rename=columns,
        skips=on_error == "mark",
        request=request,
    )
    return _mapped(dataset, AnswerBatches, work, team)


def embed(
    dataset: Any,
    model: ModelChoice | str = "embed-en",
    *,
    column: str = "text",
    dimensions: int | None = None,
    actors: Actors | int | None = None,
) -> Any:
    """A data set with the column `vector`: a sentence vector of each row's text.

    Args:
        dataset: Of Ray Data.
        model: A sentence encoder.
        column: The data set's column of texts.
        dimensions: Numbers of each vector to keep, the first ones.
        actors: As for `match`.
    """
    choice, team = _settled(model, "embed", "sentence-encoder", actors)
    work = BulkWork(
        model=choice,
        identity={},
        output="",
        form="",
        shard_rows=rows_together(choice),
        rename={"text": column},
        vectors=VectorOptions(dimensions=dimensions),
    )
    return _mapped(dataset, VectorBatches, work, team)


class AnswerBatches:
    """An actor: opens the model once, and answers batches.

    Args:
        work: What is done.
    """

    def __init__(self, work: BulkWork) -> None:
        self._work = work
        self._model = work.model.open()
        bundle = self._model.bundle
        self._kind, self._bulk = bundle.config.kind, bulk_rows(bundle)
        self._rename = _renamed(work.rename, bundle.config.columns, INPUTS[self._kind])

    def __call__(self, table: Any) -> Any:
        """A batch with its answers."""
        faults: dict[int, str] = {}
        records: dict[int, Mapping[str, Any]] = {}
        rows = self._rows(table, faults)
        while some := [row for _, row in zip(range(self._chunk), rows, strict=False)]:
            found = self._bulk.answer(self._model, some, self._work.request)
            for row, record in zip(some, found, strict=True):
                if record is None:
                    self._fault(InputError("the rules leave no text", row=row.number), faults)
                else:
                    records[row.number] = record
        return self._joined(table, records, faults)

    @property
    def _chunk(self) -> int:
        return int(self._model.chunk)

    def _rows(self, table: Any, faults: dict[int, str]) -> Iterator[Any]:
        """The rows of a batch, parsed as those of a file are."""
        if not table.num_rows:
            return
        self._check_columns(set(table.column_names))
        wanted = [name for name in self._input_names() if name in table.column_names]
        work = replace(self._work, rename=self._rename)
        with TemporaryDirectory(prefix="softquery-") as folder:
            path = Path(folder) / "batch.jsonl"
            lines = (json.dumps(row, default=str) for row in table.select(wanted).to_pylist())
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            try:
                on_bad = (lambda error: self._fault(error, faults)) if work.skips else None
                yield from self._parsed(path, on_bad)
            except InputError as error:
                raise InputError(error.message, source=SOURCE, row=error.row) from None

    def _input_names(self) -> list[str]:
        return [self._theirs(name) for name in INPUTS[self._kind]]

    def _check_columns(self, there: set[str]) -> None:
        """Refuse a data set without the columns that are read; of some there are alternatives."""
        needed = [name for name in INPUTS[self._kind] if name not in ("id", "tokens")]
        if self._kind == "tagger" and self._theirs("tokens") in there:
            return
        for name in needed:
            if self._theirs(name) not in there:
                raise ConfigError(
                    f"the data set has no column {self._theirs(name)!r}, found "
                    f"{', '.join(sorted(there))}; name it with columns={{{name!r}: …}}"
                )

    def _parsed(self, path: Path, on_bad: Any) -> Iterator[Any]:
        from softquery.runtime.task_rows import ParseOptions

        rows = self._bulk.parse(path, ParseOptions(rename=self._rename, on_bad=on_bad))
        if self._bulk.keep is not None:
            rows = self._bulk.keep(self._model, rows, self._work.request, on_bad)
        yield from rows

    def _fault(self, error: InputError, faults: dict[int, str]) -> None:
        if not self._work.skips:
            raise InputError(error.message, source=SOURCE, row=error.row)
        faults[error.row or 0] = error.message

    def _theirs(self, name: str) -> str:
        return (self._rename or {}).get(name, name)

    def _joined(
        self, table: Any, records: Mapping[int, Mapping[str, Any]], faults: Mapping[int, str]
    ) -> Any:
        """The batch, with the columns of its answers behind its own."""
        import pyarrow

        there = set(table.column_names)
        inputs = {name for name in INPUTS[self._kind] if name != "tokens"}
        inputs |= {"tokens"} if self._theirs("tokens") in there else set()
        new = [name for name in ANSWER_COLUMNS[self._kind] if name not in inputs]
        numbers = range(1, table.num_rows + 1)
        answers = answer_table([records.get(number, {}) for number in numbers], new)
        if self._work.skips:
            told = pyarrow.array([faults.get(number) for number in numbers], pyarrow.string())
            answers = answers.append_column(ERROR, told)
        for name in answers.column_names:
            if name in table.column_names:
                raise ConfigError(
                    f"the data set has a column {name!r} already, as the answers have; rename it"
                )
            table = table.append_column(name, answers.column(name))
        return table


class VectorBatches:
    """An actor: opens the encoder once, and embeds batches.

    Args:
        work: What is done.
    """

    def __init__(self, work: BulkWork) -> None:
        self._encoder = work.model.open()
        self._column = (work.rename or {})["text"]
        self._dimensions = work.vectors.dimensions if work.vectors else None

    def __call__(self, table: Any) -> Any:
        """A batch with its vectors."""
        import pyarrow

        if self._column not in table.column_names:
            raise ConfigError(f"the data set has no column {self._column!r}; name it with column=")
        if "vector" in table.column_names:
            raise ConfigError("the data set has a column 'vector' already; rename it")
        texts = [to_text(value, self._column) for value in table.column(self._column).to_pylist()]
        found = self._encoder.encode(texts, dimensions=self._dimensions)
        width = self._dimensions or self._encoder.output_size
        numbers = pyarrow.array(np.ascontiguousarray(found, dtype=np.float32).ravel())
        vectors = pyarrow.FixedSizeListArray.from_arrays(numbers, width)
        return table.append_column("vector", vectors)


def _settled(
    model: ModelChoice | str, verb: str, kind: str, actors: Actors | int | None
) -> tuple[ModelChoice, Actors]:
    """The model, refused here where it is not what is needed, and who opens it."""
    team = as_actors(actors)
    found = ModelChoice(source=model, verb=verb) if isinstance(model, str) else model
    choice = replace(found, verb=verb, threads=team.threads, device=team.device)
    return settled(choice, kind=kind)[0], team


def _mapped(dataset: Any, actor: type[Any], work: BulkWork, team: Actors) -> Any:
    import ray.data

    team = team.settled(spare=1)
    return dataset.map_batches(
        actor,
        fn_constructor_args=(work,),
        batch_size=work.shard_rows,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=team.num_actors),
        **team.remote_options(),
    )


def _renamed(given: Columns, trained: Columns, inputs: Sequence[str]) -> dict[str, str] | None:
    """The columns that a caller names, or those of the file that a model was trained on."""
    if given is not None or trained is None:
        return None if given is None else dict(given)
    return {ours: theirs for ours, theirs in trained.items() if ours in inputs}
