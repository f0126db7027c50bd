"""Which model it is: a hash of the files that encodings and vectors depend on."""

from hashlib import sha256

from softquery.bundle import Bundle
from softquery.runtime.vectors.text_vectors import TextVectors
from softquery.zoo import resolve

FILES = ("config.json", "tokenizer.json", "model.safetensors")
"""Calibration is not among them: a model may be calibrated anew, and what is stored stays good."""


def fingerprint(bundle: Bundle) -> str:
    """A hash of a bundle's text pipeline and weights."""
    found = sha256()
    paths = [bundle.path / name for name in FILES]
    if bundle.config.base is not None:
        paths.append(resolve(bundle.config.base) / "model.safetensors")
    for path in paths:
        found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()[:32]


def vector_fingerprint(vectors: TextVectors) -> str:
    """Likewise of what gives vectors; empty where that is the matcher itself."""
    return "" if vectors.bundle is None else fingerprint(vectors.bundle)
