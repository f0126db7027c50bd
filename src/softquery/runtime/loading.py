"""Open a bundle: by its name, on the backend that is asked for. What it is decides what comes back.

Needs no torch.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Literal

from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError, InputError, MissingExtra
from softquery.files.data_frames import is_table
from softquery.runtime.kinds import kind_of
from softquery.runtime.task_rows import LabelledRows, ParseOptions
from softquery.zoo import resolve

Backend = Literal["auto", "onnx", "torch"]
"""What computes: ONNX Runtime, torch, or whichever the bundle was made for."""
Source = str | PathLike[str] | Bundle
"""A name from the zoo, a folder, or a bundle that is read already."""


def load(
    name_or_path: Source,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Any:
    """Open a bundle by its name in the zoo or by its folder.

    Args:
        name_or_path: Such as `"nli-en"`, or a folder.
        backend: `"onnx"` needs an exported bundle; `"torch"` needs the extra `[train]`; `"auto"`
            takes ONNX Runtime where the bundle was exported and no device is named, else torch.
        threads: Threads of one call; None for all cores. torch and the tokenizers know one count
            for the whole process, and keep this one.
        device: For torch: `"cpu"` or `"cuda"`; a GPU is used where there is one.

    Returns:
        A `Matcher`, a `SentenceEncoder`, a `Tagger`, a `Classifier`, a `Reader`, a
        `ContextEmbedder`, a `PieceEmbedder` or a `Generator`, by the kind of the bundle.
    """
    bundle = opened(name_or_path)
    kind = kind_of(bundle)
    if kind.name == "vectors":
        raise BundleError(f"{bundle.path}: holds word vectors; open it with softquery.load_vectors")
    return kind.opener.get()(bundle, backend=backend, threads=threads, device=device)


def evaluate(model: Any, rows: Sequence[Any]) -> Any:
    """Answer labelled rows, and keep what was answered, to be looked at in several ways.

    Args:
        model: An opened bundle whose task has labelled rows.
        rows: As the model's kind parses them, such as rows with `sentence1`, `sentence2` and
            `label` for a `Matcher`. Where each is a row of a table, as for pairs and texts with
            labels, a data frame, an Arrow table, a data set or a list of mappings will do.

    Returns:
        A `MatchEvaluation` for a matcher, and what corresponds to it for other kinds: all have
        `report()`, `slices(by)` and `mistakes()`.
    """
    if not isinstance(bundle := getattr(model, "bundle", None), Bundle):
        raise ConfigError(f"expected a model that softquery.load opened, got {model!r:.40}")
    one = isinstance(rows, (str, bytes, PathLike, Mapping)) or not isinstance(rows, Iterable)
    if one and not is_table(rows):
        raise TypeError(
            f"expected a list of rows, got {type(rows).__name__}; read a file with "
            "list(softquery.files.read_rows(FILE, columns=[…]))"
        )
    kind = kind_of(bundle)
    if kind.evaluator is None or kind.labelled is None or kind.measured_on_text:
        raise ConfigError(f"{bundle.path}: {kind.noun} has no labelled rows to measure on")
    if kind.labelled.in_memory:
        rows = _parsed(rows, kind.labelled)
    for number, row in enumerate(rows, 1):
        if not hasattr(row, "source"):
            message = f"expected a row of softquery.files, found {row!r:.40}"
            raise InputError(message, source="the rows", row=number)
    return kind.evaluator.get()(model, rows)


def _parsed(rows: Any, labelled: LabelledRows) -> Sequence[Any]:
    """Rows as they are parsed from a file: of a table, or of mappings; others as they are."""
    if is_table(rows):
        return list(labelled.parse(rows, ParseOptions(keep_others=True)))
    listed = list(rows)
    if listed and all(isinstance(row, Mapping) for row in listed):
        return list(labelled.parse(listed, ParseOptions(keep_others=True)))
    return listed


def opened(source: Source) -> Bundle:
    """A bundle by its name, by its folder, or as it is."""
    if not isinstance(source, (str, PathLike, Bundle)):
        raise ConfigError(f"expected the name or the folder of a model, got {source!r:.40}")
    return source if isinstance(source, Bundle) else read_bundle(resolve(source))


def choose_backend(
    bundle: Bundle, backend: Backend, threads: int | None, device: str | None
) -> Literal["onnx", "torch"]:
    """The backend that was asked for, where it is available; `"auto"` prefers ONNX Runtime."""
    if backend not in ("auto", "onnx", "torch"):
        raise ConfigError(f"backend must be 'auto', 'onnx' or 'torch', got {backend!r}")
    if device is not None and not isinstance(device, str):
        raise ConfigError(f"device must be a name such as 'cpu' or 'cuda', got {device!r:.40}")
    if threads is not None and type(threads) is not int:
        raise ConfigError(f"threads must be a whole number, got {threads!r:.40}")
    if threads is not None and threads < 1:
        raise ConfigError(f"threads must be at least 1, got {threads}")
    if threads is not None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if backend == "auto":
        return "onnx" if bundle.is_exported and device is None else "torch"
    if backend == "torch":
        return "torch"
    if device is not None:
        raise ConfigError(f"device {device!r} is for backend 'torch', not for 'onnx'")
    if not bundle.is_exported:
        raise BundleError(f"{bundle.path}: not exported yet; run `softquery export` on it")
    return "onnx"


@contextmanager
def needs_torch(needed_for: str = "running a model on torch") -> Iterator[None]:
    """Around imports of what runs on torch: where it is missing, the extra is named."""
    try:
        yield
    except ImportError as error:
        if error.name and error.name.split(".")[0] in ("torch", "jaxtyping"):
            raise MissingExtra("train", needed_for=needed_for) from None
        raise
