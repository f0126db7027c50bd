"""One step of the GPU engine: the gradient of many windows in closed form, added in place.

B windows, C words around, H vectors that ask (C, or 1 for CBOW), T targets, D width.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional as F

SATURATED = 6.0
"""Scores from which on a sigmoid is taken to be 0 or 1, as in the authors' program."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What is learnt: the vectors that ask, those that answer, and for NCE the targets' biases."""

    input: Float[Tensor, "R D"]
    output: Float[Tensor, "V D"]
    bias: Float[Tensor, " V"] | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows as a step wants them; `offset` is None where scores are taken as they are."""

    context: Int[Tensor, "B C"]
    context_mask: Bool[Tensor, "B C"]
    targets: Int[Tensor, "B T"]
    target_mask: Bool[Tensor, "B T"]
    label: Float[Tensor, "B T"]
    offset: Float[Tensor, "B T"] | None


@dataclass(frozen=True, slots=True)
class Bags:
    """The rows of each word where it has n-grams: `rows[starts[w] : starts[w + 1]]`."""

    starts: Int[Tensor, " V1"]
    rows: Int[Tensor, " N"]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Rows of a batch's words, and which word each belongs to."""

    rows: Int[Tensor, " N"]
    owner: Int[Tensor, " N"]
    place: Int[Tensor, "B C"]
    """Which of the distinct words a context word is."""
    lengths: Int[Tensor, " U"]


def learn_step(
    tables: Tables, batch: Batch, rate: Tensor, *, mixed: bool, max_pull: float, bags: Bags | None
) -> tuple[Tensor, Tensor]:
    """Move the tables against the gradient of a batch.

    Args:
        tables: Changed in place.
        batch: The windows.
        rate: The learning rate, a scalar on the device.
        mixed: Whether the mean of the words around asks (CBOW), or each of them.
        max_pull: Learning rates that a row may add up; the steps of a row that occurs more often
            in the batch are scaled down, because their sum would overshoot.
        bags: The rows of words with n-grams.

    Returns:
        The loss, summed over the vectors that asked, and how many these were.
    """
    found = None if bags is None else gather_bags(bags, batch.context)
    vectors, weight = word_vectors(tables.input, batch, found)
    hidden, asks = mixed_vectors(vectors, weight) if mixed else (vectors, batch.context_mask)
    answers = tables.output[batch.targets]  # [B, T, D]
    scores = hidden @ answers.transpose(1, 2)  # [B, H, T]
    if batch.offset is not None:
        scores = scores + batch.offset[:, None]
    mask = asks[:, :, None] & batch.target_mask[:, None]
    label = batch.label[:, None]
    steps = rate * (label - saturated_sigmoid(scores)) * mask
    loss = (F.softplus(scores) - label * scores) * mask
    moved = (steps @ answers).expand_as(vectors)  # [B, C, D]; a mean moves all of its parts alike
    turned = steps.transpose(1, 2)
    most_hits = max_pull / rate.clamp(min=1e-12)
    scatter_input(tables.input, moved, batch, found, most_hits)
    hits = batch.target_mask * asks.sum(dim=1, keepdim=True)  # [B, T]
    add_rows(tables.output, batch.targets, turned @ hidden, hits, most_hits)
    if tables.bias is not None:
        pulls = turned.sum(dim=-1, keepdim=True)  # [B, T, 1]
        add_rows(tables.bias[:, None], batch.targets, pulls, hits, most_hits)
    return loss.sum(), asks.sum()


def saturated_sigmoid(scores: Tensor) -> Tensor:
    """The sigmoid, and beyond ±6 exactly 0 or 1."""
    inside = torch.sigmoid(scores)
    high = torch.where(scores >= SATURATED, torch.ones_like(inside), inside)
    return torch.where(scores <= -SATURATED, torch.zeros_like(inside), high)


def gather_bags(bags: Bags, context: Int[Tensor, "B C"]) -> Gathered:
    """The rows of every distinct word of a batch."""
    words, place = torch.unique(context, return_inverse=True)
    starts = bags.starts[words]
    lengths = bags.starts[words + 1] - starts
    owner = torch.arange(len(words), device=words.device).repeat_interleave(lengths)
    within = torch.arange(len(owner), device=words.device) - (lengths.cumsum(0) - lengths)[owner]
    return Gathered(bags.rows[starts[owner] + within], owner, place, lengths)


def word_vectors(
    table: Tensor, batch: Batch, found: Gathered | None
) -> tuple[Float[Tensor, "B C D"], Float[Tensor, "B C"]]:
    """Vectors of the words around, and of how many rows each is the mean."""
    there = batch.context_mask.to(table.dtype)
    if found is None:
        return table[batch.context], there
    total = table.new_zeros(len(found.lengths), table.shape[1])
    total.index_add_(0, found.owner, table[found.rows])
    mean = total / found.lengths[:, None]
    return mean[found.place], there * found.lengths[found.place]


def mixed_vectors(
    vectors: Float[Tensor, "B C D"], weight: Float[Tensor, "B C"]
) -> tuple[Float[Tensor, "B 1 D"], Bool[Tensor, "B 1"]]:
    """One vector for each window: the mean over all rows of all words around (CBOW)."""
    total = weight.sum(dim=1, keepdim=True)  # [B, 1]
    mean = (weight[:, None] @ vectors) / total.clamp(min=1)[:, :, None]
    return mean, total > 0


def scatter_input(
    table: Tensor,
    moved: Float[Tensor, "B C D"],
    batch: Batch,
    found: Gathered | None,
    most_hits: Tensor,
) -> None:
    """Add to the rows of the words around; n-grams move with every word that holds them."""
    if found is None:
        add_rows(table, batch.context, moved, batch.context_mask, most_hits)
        return
    words = table.new_zeros(len(found.lengths), table.shape[1])
    add_rows(words, found.place, moved, batch.context_mask, most_hits)
    table.index_add_(0, found.rows, words[found.owner])


def add_rows(
    table: Tensor,
    rows: Int[Tensor, "B N"],
    values: Float[Tensor, "B N D"],
    hits: Shaped[Tensor, "B N"],
    most_hits: Tensor,
) -> None:
    """Add values to rows of a table, those of rows that are hit too often scaled down.

    Args:
        table: Changed in place.
        rows: Where to add.
        values: What to add.
        hits: Of how many gradients a value is the sum; what is the sum of none is left out.
        most_hits: What a row may have in all.
    """
    count = hits.to(table.dtype)
    total = table.new_zeros(len(table)).index_add_(0, rows.flatten(), count.flatten())
    scale = (most_hits / total.clamp(min=most_hits))[rows] * (count > 0)
    table.index_add_(0, rows.flatten(), (values * scale[:, :, None]).flatten(0, 1))
