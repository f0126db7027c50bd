"""Opening a bundle, whatever it answers."""

from os import PathLike

from softquery.bundle import read_bundle
from softquery.runtime import matcher, tagger, writer
from softquery.runtime.choosing import Backend
from softquery.runtime.matcher import Matcher
from softquery.runtime.tagger import Tagger
from softquery.runtime.writer import Writer
from softquery.zoo import resolve


def load(
    name_or_path: str | PathLike[str],
    *,
    backend: Backend = "auto",
    threads: int | None = None,
    device: str | None = None,
) -> Matcher | Tagger | Writer:
    """Open a bundle by its name in the zoo or by its folder.

    Args:
        name_or_path: Such as `"nli-en"`, or a folder.
        backend: `"onnx"` needs an exported bundle; `"torch"` needs the extra `[train]`; `"auto"`
            takes ONNX Runtime where the bundle was exported and no device is named, else torch.
        threads: Threads of one call; None for all cores. torch and the tokenizers know one count
            for the whole process, and keep this one.
        device: For torch: `"cpu"` or `"cuda"`; a GPU is used where there is one.
    """
    path = resolve(name_or_path)
    kind = read_bundle(path).config.kind
    if kind == "generator":
        return writer.load(path, backend=backend, threads=threads, device=device)
    opened = tagger.load if kind == "tagger" else matcher.load
    return opened(path, backend=backend, threads=threads, device=device)
