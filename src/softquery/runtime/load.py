"""Open any bundle: what it is decides what comes back."""

from collections.abc import Callable
from typing import Any

from softquery.errors import BundleError
from softquery.runtime.backend_choice import Backend
from softquery.runtime.classify.model import load_classifier
from softquery.runtime.embed.model import open_embedder
from softquery.runtime.embed.pieces import open_pieces
from softquery.runtime.generate.model import load_generator
from softquery.runtime.match.model import load_matcher
from softquery.runtime.opened import Source, opened
from softquery.runtime.read.model import load_reader
from softquery.runtime.tag.model import load_tagger

OPENERS: dict[str, Callable[..., Any]] = {
    "matcher": load_matcher,
    "embedder": open_embedder,
    "encoder": open_pieces,
    "tagger": load_tagger,
    "classifier": load_classifier,
    "generator": load_generator,
    "reader": load_reader,
}
"""What opens each kind of bundle."""


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
        A `Matcher`, a `Tagger`, a `Classifier`, a `Reader`, an `Embedder`, a `PieceEmbedder` or a
        `Writer`, by the kind of the bundle.
    """
    bundle = opened(name_or_path)
    kind = bundle.config.kind
    if kind == "vectors":
        raise BundleError(f"{bundle.path}: holds word vectors; open it with softquery.load_vectors")
    if kind not in OPENERS:
        raise BundleError(
            f"{bundle.path}: a bundle of kind {kind!r} cannot be opened "
            f"(known: {', '.join(OPENERS)})"
        )
    return OPENERS[kind](bundle, backend=backend, threads=threads, device=device)
