"""What a bulk run does, as the driver tells its workers: the model, the rows, the form."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from softquery.bundle import Bundle
from softquery.errors import ConfigError, InputError
from softquery.files import QUESTION_FORMS, read_sentences
from softquery.files.plain_text import FORMS as TABLE_FORMS
from softquery.files.tagged_sentences import TEXT_FORMS
from softquery.runtime.bulk import content_identity
from softquery.runtime.kinds import Lazy, check_kind, kind_of
from softquery.runtime.loading import choose_backend, opened
from softquery.runtime.task_rows import BulkRows, ParseOptions

SHARD_CHUNKS = 32
"""Chunks of a shard, unless a number of rows is given."""
FORMS_BY_KIND = {"reader": QUESTION_FORMS, "tagger": TEXT_FORMS}
"""Endings of files that hold rows, where they are not those of tables."""
OnBad = Callable[[InputError], None] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChoice:
    """Which model an actor opens, and how.

    Attributes:
        source: A name that every machine knows, or a folder that every machine sees.
        verb: What it is for: of an encoder, `fill` and `embed` open different things.
        backend: As `softquery.load` takes it.
        threads: Of one call.
        device: For torch.
    """

    source: str
    verb: str
    backend: str = "auto"
    threads: int | None = 1
    device: str | None = None

    def bundle(self) -> Bundle:
        """The model folder, read but not opened."""
        return opened(self.source)

    def open(self) -> Any:
        """Open it, as an actor does once."""
        how: dict[str, Any] = {"threads": self.threads, "device": self.device}
        bundle = self.bundle()
        if self.verb == "fill":
            from softquery.runtime.fill.model import open_filler

            return open_filler(bundle, backend=self.backend, **how)  # type: ignore[arg-type]
        return kind_of(bundle).opener.get()(bundle, backend=self.backend, **how)


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorOptions:
    """Of `embed`: what of each vector is written."""

    layers: Any = "all"
    dimensions: int | None = None
    precision: str = "float32"


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkWork:
    """One bulk run, the same for all of its workers.

    Attributes:
        model: Who answers.
        identity: What the answers depend on besides the rows, as a single process has it.
        output: The folder of shards, a path or a URI.
        form: Of a shard's file.
        shard_rows: Rows of a shard, a multiple of the rows that a model answers together.
        rename: Our column names to the files'.
        skips: Whether bad rows are left out, into files of their own.
        request: How a generator searches, or which words are wanted for masks.
        prepare: What is done with the rows before all else; a function with a name.
        vectors: Of `embed`; None where answers are wanted.
    """

    model: ModelChoice
    identity: Mapping[str, str]
    output: str
    form: str
    shard_rows: int
    rename: Mapping[str, str] | None = None
    skips: bool = False
    request: Any = None
    prepare: Callable[[Iterator[Any]], Iterator[Any]] | None = None
    vectors: VectorOptions | None = None

    def rows(self, path: Path, on_bad: OnBad) -> Iterator[Any]:
        """The rows of a file, exactly those that a single process would answer."""
        if self.vectors is not None:
            return read_sentences(path, rename=self.rename, on_bad=on_bad)
        bulk = self.bulk
        rows = bulk.parse(path, ParseOptions(rename=self.rename, on_bad=on_bad))
        if self.prepare is not None:
            rows = self.prepare(rows)
        if bulk.keep is not None:
            rows = bulk.keep(self.model.open(), rows, self.request, on_bad)
        return rows

    @property
    def bulk(self) -> BulkRows:
        """The rows of the model's kind."""
        return bulk_rows(self.model.bundle())

    def input_forms(self) -> tuple[str, ...]:
        """Endings of files that hold such rows."""
        return FORMS_BY_KIND.get(self.model.bundle().config.kind, TABLE_FORMS)


def bulk_rows(bundle: Bundle) -> BulkRows:
    """The rows that a model answers in bulk."""
    bulk = kind_of(bundle).bulk
    if bulk is None:
        raise ConfigError(f"{bundle.path}: a {bundle.config.kind} answers no files")
    return bulk


def settled(choice: ModelChoice, *, kind: str | None) -> tuple[ModelChoice, dict[str, str]]:
    """A choice that all machines understand alike, and the identity of its answers.

    Args:
        choice: As the user made it.
        kind: What the model must be; None for any kind.
    """
    bundle = choice.bundle()
    if kind is not None:
        check_kind(bundle, kind)
    known = choose_backend(bundle, choice.backend, choice.threads, choice.device)  # type: ignore[arg-type]
    device = None if known == "onnx" else choice.device or "cpu"
    place = Path(choice.source).expanduser()
    source = str(place.resolve()) if place.is_dir() else choice.source
    name = known if device is None else f"{known} on {device}"
    return replace(choice, source=source, device=device), content_identity(bundle, name)


def rows_together(choice: ModelChoice) -> int:
    """How many rows a model answers together: on these a row's last digits may depend."""
    kind = kind_of(choice.bundle())
    place = f"{kind.model.place.partition(':')[0]}:CHUNK"
    if choice.verb == "fill":
        place = "softquery.runtime.fill.model:CHUNK"
    elif choice.verb == "embed" and kind.name != "sentence-encoder":
        place = "softquery.runtime.embed.model:CHUNK_LINES"
    return int(Lazy(place).get())
