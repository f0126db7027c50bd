"""The bundle that another one is a head of: found by its name, and checked to be the same.

A head holds no weights of its base. It says which ones it was trained on by a fingerprint of the
numbers that the base's file stands for, int8 times its scales: what torch is given and what ONNX
Runtime is given, so that all who read the base check the same thing. Needs no torch.
"""

from typing import Any

from softquery.bundle import Bundle, read_bundle, weights_fingerprint
from softquery.errors import BundleError
from softquery.runtime.graph_weights import Array, dequantised
from softquery.runtime.inner.reads import NESTED
from softquery.zoo import resolve

FORESEEING = "softmax."
"""Before the names of weights that a head never uses: a base may come with or without them."""


def base_weights(base: Bundle) -> dict[str, Array]:
    """What a head uses of its base, as float32."""
    whole = dequantised(base.read_weights())
    return {name: each for name, each in whole.items() if not name.startswith(FORESEEING)}


def open_base(bundle: Bundle) -> tuple[Bundle, dict[str, Array]] | None:
    """The base of a head and what the head uses of it; None where there is no base.

    Raises:
        BundleError: There is no base of that name, or it is another one.
    """
    if bundle.config.base is None:
        return None
    base = read_bundle(resolve(bundle.config.base))
    if not _fits(bundle.config.model["config"].get(NESTED, {}), base.config.model):
        raise BundleError(f"was made for another {bundle.config.base} than {base.path}")
    weights = base_weights(base)
    expected = bundle.config.base_fingerprint
    if expected is not None and weights_fingerprint(weights) != expected:
        raise BundleError(
            f"its base {bundle.config.base} had other weights than those of {base.path}"
        )
    return base, weights


def _fits(inside: dict[str, Any], base: dict[str, Any]) -> bool:
    """Whether a base says nothing else of itself than the head does, what foresees words aside."""
    ours, theirs = inside.get("config", {}), base["config"]
    said = theirs.keys() - {"softmax", "vocab_size"}
    return base["name"] == inside.get("name") and all(
        name in ours and ours[name] == theirs[name] for name in said
    )
