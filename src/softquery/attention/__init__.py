"""The soft query: one attention core for every model of this library."""

from softquery.attention.attend import (
    Additive,
    Attended,
    Bilinear,
    Concat,
    Score,
    Trilinear,
    attend,
    cosine,
    dot,
    masked_softmax,
    scaled_dot,
    weighted_values,
)
from softquery.attention.fused import (
    fused_attend,
)
from softquery.attention.hard import (
    hard_attend,
    hard_weights,
    straight_through,
    tempered,
)
from softquery.attention.masks import (
    both,
    causal_mask,
    padding_mask,
    window_mask,
)
from softquery.attention.multi_head import (
    KeyValueCache,
    MultiHead,
)
from softquery.attention.packed import (
    Packing,
    packed_attend,
)
from softquery.attention.windowed import (
    Window,
    near_mask,
    windowed_attend,
)

__all__ = [
    "Additive",
    "Attended",
    "Bilinear",
    "Concat",
    "KeyValueCache",
    "MultiHead",
    "Packing",
    "Score",
    "Trilinear",
    "Window",
    "attend",
    "both",
    "causal_mask",
    "cosine",
    "dot",
    "fused_attend",
    "hard_attend",
    "hard_weights",
    "masked_softmax",
    "near_mask",
    "packed_attend",
    "padding_mask",
    "scaled_dot",
    "straight_through",
    "tempered",
    "weighted_values",
    "window_mask",
    "windowed_attend",
]
