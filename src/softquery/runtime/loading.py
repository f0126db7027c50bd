"""Open any bundle: what it is decides what comes back."""

from collections.abc import Callable
from typing import Any

from softquery.errors import BundleError
from softquery.runtime.embedder import open_embedder
from softquery.runtime.matcher import Backend, load_matcher
from softquery.runtime.opening import Source, opened

OPENERS: dict[str, Callable[..., Any]] = {"matcher": load_matcher, "embedder": open_embedder}
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
        A `Matcher` for a bundle of kind matcher, an `Embedder` for one of kind embedder.
    """
    bundle = opened(name_or_path)
    opener = OPENERS.get(bundle.config.kind)
    if opener is None:
        raise BundleError(
            f"{bundle.path}: a bundle of kind {bundle.config.kind!r} cannot be opened "
            f"(known: {', '.join(OPENERS)})"
        )
    return opener(bundle, backend=backend, threads=threads, device=device)
