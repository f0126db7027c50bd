"""What `softquery export` does with each kind of bundle: which rows it reads, what it calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softquery.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.export import ExportReport
    from softquery.files import Row


USUAL_GATE = 0.5
"""Points, or per cent, that int8 may cost where nothing else was said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What the user asked for.

    Attributes:
        limit: Points of the kind's metric that int8 may cost; None for what is usual.
        data: Rows of the kind's task, for the gate.
        rename: Our column names to the file's.
        drop_softmax: Leave out what an embedder was pretrained with.
    """

    bundle: "Bundle"
    target: Path
    int8: bool = False
    limit: float | None = None
    data: Path | None = None
    rename: Mapping[str, str] | None = None
    drop_softmax: bool = False

    @property
    def points(self) -> float:
        """The limit, or what is usual."""
        return USUAL_GATE if self.limit is None else self.limit


def export_kind(wish: Wish) -> "ExportReport":
    """Export a bundle as its kind is exported."""
    kind = wish.bundle.config.kind
    if wish.drop_softmax and kind != "embedder":
        raise ConfigError("--drop-softmax is for embedders, which are pretrained with one")
    return EXPORTERS.get(kind, _matcher)(wish)


def require_onnx(extra: str = "train", *, needed_for: str = "export") -> None:
    """Graphs are written with onnx, which extras bring."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise MissingExtra(extra, needed_for=needed_for) from None


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("train", needed_for="export") from None


def _matcher(wish: Wish) -> "ExportReport":
    _require_torch()
    from softquery.export import export_matcher
    from softquery.runtime.bert.backend import is_bert

    rows = _labelled(wish, "sentence1", "sentence2", "label")
    if is_bert(wish.bundle):
        return _bert(wish, rows)
    return export_matcher(wish.bundle, wish.target, int8=wish.int8, limit=wish.points, rows=rows)


def _classifier(wish: Wish) -> "ExportReport":
    _require_torch()
    from softquery.export import export_classifier
    from softquery.runtime.bert.backend import is_bert

    rows = _labelled(wish, "text", "label")
    if is_bert(wish.bundle):
        return _bert(wish, rows)
    return export_classifier(wish.bundle, wish.target, int8=wish.int8, limit=wish.points, rows=rows)


def _labelled(wish: Wish, *columns: str) -> list["Row"]:
    from softquery.files import read_rows

    if wish.data is None:
        return []
    return list(read_rows(wish.data, columns=columns, rename=wish.rename))


def _generator(wish: Wish) -> "ExportReport":
    _require_torch()
    from softquery.export import export_generator

    rows = _labelled(wish, "source", "target")
    return export_generator(wish.bundle, wish.target, int8=wish.int8, limit=wish.limit, rows=rows)


def _reader(wish: Wish) -> "ExportReport":
    _require_torch()
    from softquery.export import export_reader
    from softquery.files import read_questions
    from softquery.runtime.bert.backend import is_bert

    rows = [] if wish.data is None else list(read_questions(wish.data, rename=wish.rename))
    if is_bert(wish.bundle):
        return _bert(wish, rows)
    return export_reader(wish.bundle, wish.target, int8=wish.int8, limit=wish.points, rows=rows)


def _tagger(wish: Wish) -> "ExportReport":
    _require_torch()
    from softquery.export import export_tagger
    from softquery.files import read_tagged
    from softquery.runtime.bert.backend import is_bert

    rows = [] if wish.data is None else list(read_tagged(wish.data, rename=wish.rename))
    if is_bert(wish.bundle):
        return _bert(wish, rows)
    return export_tagger(wish.bundle, wish.target, int8=wish.int8, limit=wish.points, rows=rows)


def _bert(wish: Wish, rows: Sequence[Any]) -> "ExportReport":
    """Any of the four tasks, where a BERT does it."""
    from softquery.export import export_bert_head

    return export_bert_head(wish.bundle, wish.target, int8=wish.int8, limit=wish.points, rows=rows)


def _encoder(wish: Wish) -> "ExportReport":
    _require_torch()
    from softquery.export import export_encoder
    from softquery.files import read_lines

    return export_encoder(
        wish.bundle,
        wish.target,
        int8=wish.int8,
        limit=wish.points,
        lines=[] if wish.data is None else read_lines([wish.data], rename=wish.rename),
    )


def _embedder(wish: Wish) -> "ExportReport":
    from softquery.export import export_embedder
    from softquery.files import read_texts

    return export_embedder(
        wish.bundle,
        wish.target,
        int8=wish.int8,
        limit=wish.points,
        texts=[] if wish.data is None else read_texts([wish.data], rename=wish.rename),
        softmax="left out" if wish.drop_softmax else "kept",
    )


EXPORTERS: Mapping[str, Callable[[Wish], "ExportReport"]] = {
    "classifier": _classifier,
    "embedder": _embedder,
    "encoder": _encoder,
    "generator": _generator,
    "matcher": _matcher,
    "reader": _reader,
    "tagger": _tagger,
}
"""By a bundle's kind; a kind that is not here is told so by the matcher's exporter."""
