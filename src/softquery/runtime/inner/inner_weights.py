"""The embedder of words in context inside another task's model, as a bundle stores it.

A bundle either holds the inner embedder's weights, or is a head on a base: it then names the bundle
that holds them, and says which ones it was trained on by a fingerprint of the numbers that the
base's file stands for, int8 times its scales. That is what torch is given and what ONNX Runtime is
given, so that all who read the base check the same thing. Needs no torch.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from softquery.bundle import Bundle, read_bundle, weights_fingerprint
from softquery.errors import BundleError
from softquery.runtime.graph_weights import Array, dequantised
from softquery.zoo import resolve

INNER = "embedder"
"""Under which a model's config holds the embedder inside it, and before its weights."""
PREFIX = f"{INNER}.bilm."
"""Before the names of the biLM's weights inside a model."""
PROJECTIONS = f"{INNER}.projections."
"""Before those of the matrices that make its vectors narrower."""
SOFTMAX = "softmax."
"""Before the names of weights that predict words, which a head never uses: a base may come with or
without them."""


def has_inner(bundle: Bundle) -> bool:
    """Whether a bundle's model has an embedder inside."""
    return INNER in bundle.config.model["config"]


def inner_places(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a model of these settings reads an inner embedder's vectors: its input, its output.

    >>> inner_places({}), inner_places({"embedder": {"settings": {"places": ["input"]}}})
    ((), ('input',))
    """
    return tuple(settings.get(INNER, {}).get("settings", {}).get("places", ()))


def reads_words(bundle: Bundle) -> bool:
    """Whether a model spells words by their own characters, so that no word is unknown to it."""
    inner = bundle.config.model["config"].get(INNER)
    return isinstance(inner, dict) and inner.get("num_types") == 0


def check_spelling(bundle: Bundle, kind: str = "matcher") -> None:
    """Refuse a model with a biLM that spells a closed vocabulary, which has no graphs."""
    if has_inner(bundle) and not reads_words(bundle):
        raise BundleError(
            f"{bundle.path}: a {kind} whose ELMo spells a closed vocabulary runs on torch alone"
        )


def without_inner(stored: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The weights of a model without those of the biLM inside it, which has graphs of its own."""
    return {name: values for name, values in stored.items() if not name.startswith(PREFIX)}


def base_weights(base: Bundle) -> dict[str, Array]:
    """What a head uses of its base, as float32."""
    whole = dequantised(base.read_weights())
    return {name: each for name, each in whole.items() if not name.startswith(SOFTMAX)}


def open_base(bundle: Bundle) -> tuple[Bundle, dict[str, Array]] | None:
    """The base of a head and what the head uses of it; None where there is no base.

    Raises:
        BundleError: There is no base of that name, or it is another one.
    """
    if bundle.config.base is None:
        return None
    base = read_bundle(resolve(bundle.config.base))
    if not _fits(bundle.config.model["config"].get(INNER, {}), base.config.model):
        raise BundleError(f"was made for another {bundle.config.base} than {base.path}")
    weights = base_weights(base)
    expected = bundle.config.base_fingerprint
    if expected is not None and weights_fingerprint(weights) != expected:
        raise BundleError(
            f"its base {bundle.config.base} had other weights than those of {base.path}"
        )
    return base, weights


def _fits(inside: dict[str, Any], base: dict[str, Any]) -> bool:
    """Whether a base says nothing else of itself than the head does, what predicts words aside."""
    ours, theirs = inside.get("config", {}), base["config"]
    said = theirs.keys() - {"softmax", "vocab_size"}
    return base["name"] == inside.get("name") and all(
        name in ours and ours[name] == theirs[name] for name in said
    )
