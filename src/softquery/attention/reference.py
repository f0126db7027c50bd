"""The oracle: every law of this layer once more, in plain loops, slow and obvious.

Nothing here is vectorised over queries and keys, or masked by large numbers. One query meets one
key; what may not be seen is left out of the sum. Autograd follows, so that gradients are compared
as well as values. For tests and for readers; models never call it.

Shapes: as in the files judged. Batch axes are walked one cell at a time.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from softquery.attention.attend import Additive, Attended, Bilinear, Concat, Trilinear
from softquery.attention.multi_head import MultiHead

PairScore: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""One query [D] and one key [E] to one number []."""

Weigh: TypeAlias = Callable[[list[Tensor]], list[Tensor]]
"""The logits of the keys that one query may see to their weights."""


def dot(query: Float[Tensor, " D"], key: Float[Tensor, " D"]) -> Float[Tensor, ""]:
    """Add up the products of the components."""
    total = query.new_zeros(())
    for q, k in zip(query, key, strict=True):
        total = total + q * k
    return total


def scaled_dot(query: Float[Tensor, " D"], key: Float[Tensor, " D"]) -> Float[Tensor, ""]:
    """Divide the dot product by the square root of the width."""
    return dot(query, key) / math.sqrt(len(query))


def cosine(query: Float[Tensor, " D"], key: Float[Tensor, " D"]) -> Float[Tensor, ""]:
    """Divide the dot product by both lengths; a zero vector's length counts as 1."""
    return dot(query, key) / (_length(query) * _length(key))


def bilinear(score: Bilinear) -> PairScore:
    """Put the score's matrix between query and key."""
    return lambda query, key: dot(_times(score.query_projection.weight, query), key)


def additive(score: Additive) -> PairScore:
    """Add the projected query and key, squash, and read off one number."""

    def compare(query: Tensor, key: Tensor) -> Tensor:
        projected_query = _times(score.query_projection.weight, query)
        projected_key = _times(score.key_projection.weight, key)
        return dot(score.energy.weight[0], torch.tanh(projected_query + projected_key))

    return compare


def concat(score: Concat) -> PairScore:
    """Lay query and key end to end, project, squash, and read off one number."""

    def compare(query: Tensor, key: Tensor) -> Tensor:
        joined = torch.cat([query, key])
        return dot(score.energy.weight[0], torch.tanh(_times(score.projection.weight, joined)))

    return compare


def trilinear(score: Trilinear) -> PairScore:
    """Lay query, key and their product end to end, and weigh every component."""

    def compare(query: Tensor, key: Tensor) -> Tensor:
        weights = torch.cat([score.query_weight, score.key_weight, score.product_weight])
        return dot(weights, torch.cat([query, key, query * key]))

    return compare


def softmax(logits: list[Tensor]) -> list[Tensor]:
    """Exponentials over their sum, none for none; the largest is taken off first, as it cancels."""
    if not logits:
        return []
    largest = max(logit.item() for logit in logits)
    exponentials = [torch.exp(logit - largest) for logit in logits]
    total = torch.stack(exponentials).sum()
    return [exponential / total for exponential in exponentials]


def hardmax(logits: list[Tensor]) -> list[Tensor]:
    """1 for the first of the largest, 0 for the others."""
    numbers = [logit.item() for logit in logits]
    best = numbers.index(max(numbers)) if numbers else None
    return [logit.new_tensor(float(place == best)) for place, logit in enumerate(logits)]


def attend(
    query: Float[Tensor, "*B Q D"],
    key: Float[Tensor, "*B K E"],
    value: Float[Tensor, "*B K V"],
    *,
    score: PairScore = scaled_dot,
    bias: Float[Tensor, "*#B #Q #K"] | None = None,
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
    weigh: Weigh = softmax,
) -> Attended:
    """For each query: score the keys it may see, weigh them, and add up their values."""
    batch, num_queries, num_keys = query.shape[:-2], query.shape[-2], key.shape[-2]
    seen = torch.ones((), dtype=torch.bool) if mask is None else mask
    seen = seen.expand(*batch, num_queries, num_keys)
    shift = query.new_zeros(()) if bias is None else bias
    shift = shift.expand(*batch, num_queries, num_keys)
    mixed = value.new_zeros(*batch, num_queries, value.shape[-1])
    weights = query.new_zeros(*batch, num_queries, num_keys)
    for cell in _cells(batch):
        for i in range(num_queries):
            visible = [j for j in range(num_keys) if seen[cell][i, j]]
            logits = [score(query[cell][i], key[cell][j]) + shift[cell][i, j] for j in visible]
            for j, weight in zip(visible, weigh(logits), strict=True):
                weights[cell][i, j] = weight
                mixed[cell][i] += weight * value[cell][j]
    return Attended(mixed, weights)


def multi_head(
    layer: MultiHead,
    query: Float[Tensor, "*B Q M"],
    key: Float[Tensor, "*B K E"],
    value: Float[Tensor, "*B K V"],
    *,
    bias: Float[Tensor, "*#B #H #Q #K"] | None = None,
    mask: Bool[Tensor, "*#B #Q #K"] | None = None,
) -> Attended:
    """Project, give each head its own slice of the width, attend in each, join, and project."""
    projected_query = _projected(layer.query_projection, query)
    projected_key = _projected(layer.key_projection, key)
    projected_value = _projected(layer.value_projection, value)
    head_size = query.shape[-1] // layer.num_heads
    answers = []
    for head in range(layer.num_heads):
        part = slice(head * head_size, (head + 1) * head_size)
        answers.append(
            attend(
                projected_query[..., part],
                projected_key[..., part],
                projected_value[..., part],
                bias=None if bias is None else _of_head(bias, head),
                mask=mask,
            )
        )
    joined = torch.cat([answer.mixed for answer in answers], dim=-1)
    weights = torch.stack([answer.weights for answer in answers], dim=-3)
    return Attended(_projected(layer.output_projection, joined), weights)


def _of_head(bias: Float[Tensor, "*B H Q K"], head: int) -> Float[Tensor, "*B Q K"]:
    return bias[..., head if bias.shape[-3] > 1 else 0, :, :]


def _cells(batch: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every index into the batch axes; one empty index where there are none."""
    return itertools.product(*(range(size) for size in batch))


def _length(vector: Tensor) -> Tensor:
    squared = dot(vector, vector)
    return torch.sqrt(squared) if squared > 0 else torch.ones_like(squared)


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return torch.stack([dot(row, vector) for row in matrix])


def _projected(layer: torch.nn.Linear, vectors: Tensor) -> Tensor:
    """Apply a linear layer to every vector, one by one."""
    projected = vectors.new_zeros(*vectors.shape[:-1], layer.out_features)
    for cell in _cells(vectors.shape[:-1]):
        projected[cell] = _times(layer.weight, vectors[cell])
        if layer.bias is not None:
            projected[cell] += layer.bias
    return projected
