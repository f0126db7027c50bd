"""Many soft queries at once, each in a subspace of its own (Vaswani+ 2017, §3.2.2).

`heads(query, key, value)` is the paper's formula. It has two halves, which can be called alone:
`remember` projects keys and values and hands them over as a `KeyValueCache`; `attend` asks that
memory and shows the weights, `mix` asks it through the fused kernel. A layer keeps nothing between
calls: who decodes step by step holds the cache and passes it in again.

- Encoder: `heads.mix(x, heads.remember(x, x), mask=mask)`.
- Decoder towards its source: `source = heads.remember(states, states)` once, then
  `heads.mix(y, source, mask=source_mask)` at every step.
- Decoder towards itself: `past = heads.remember(y, y, past=past)`, then
  `heads.mix(y, past, causal=True)`, for one new token or for many.
- Encoder of long texts: `heads.mix_near(x, heads.remember(x, x), Window(64), mask=real)`.
- Encoder of sequences end to end, without padding: `heads.mix_packed(x, packing)`.

Shapes: *B batch axes, Q queries, K keys, H heads; widths M of the model and of a query, E of a key,
V of a value, S of one head (M = H·S).
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention.attend import Attended, attend
from softquery.attention.fused import fused_attend
from softquery.attention.packed import Packing, packed_attend
from softquery.attention.windowed import Window, windowed_attend


class KeyValueCache(NamedTuple):
    """Keys and values as the heads see them, ready to be asked.

    A value, not a store: nothing changes it, and every operation returns another one.
    """

    key: Float[Tensor, "*B H K S"]
    value: Float[Tensor, "*B H K S"]

    @property
    def num_keys(self) -> int:
        """How many positions are remembered."""
        return self.key.shape[-2]

    def extended(self, newer: "KeyValueCache") -> "KeyValueCache":
        """Put newer positions behind these."""
        return KeyValueCache(
            torch.cat([self.key, newer.key], dim=-2), torch.cat([self.value, newer.value], dim=-2)
        )


class MultiHead(nn.Module):
    """Ask `num_heads` soft queries side by side and join their answers (Vaswani+ 2017, §3.2.2).

    Args:
        hidden_size: Width of queries and of the answer, shared out among the heads.
        num_heads: How many heads; must divide `hidden_size`.
        key_size: Width of what is asked; as the queries by default.
        value_size: Width of what comes back before projection; as the keys by default.
        dropout: Probability that an attention weight is dropped while training.
        bias: Whether the four projections add one. The paper's formula has none, its code does.

    >>> heads = MultiHead(hidden_size=8, num_heads=2).eval()
    >>> words = torch.ones(3, 5, 8)
    >>> mixed, weights = heads(words, words, words)
    >>> mixed.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        key_size: int | None = None,
        value_size: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_heads < 1 or hidden_size % num_heads:
            raise ValueError(
                f"hidden_size ({hidden_size}) must be divisible by num_heads ({num_heads})"
            )
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        self.num_heads = num_heads
        self.dropout = dropout
        key_size = hidden_size if key_size is None else key_size
        value_size = key_size if value_size is None else value_size
        self.query_projection = nn.Linear(hidden_size, hidden_size, bias=bias)
        self.key_projection = nn.Linear(key_size, hidden_size, bias=bias)
        self.value_projection = nn.Linear(value_size, hidden_size, bias=bias)
        self.output_projection = nn.Linear(hidden_size, hidden_size, bias=bias)

    def remember(
        self,
        key: Float[Tensor, "*B K E"],
        value: Float[Tensor, "*B K V"],
        *,
        past: KeyValueCache | None = None,
    ) -> KeyValueCache:
        """Prepare keys and values for being asked, behind those of the past if there is one."""
        newer = KeyValueCache(
            self._split(self.key_projection(key)), self._split(self.value_projection(value))
        )
        return newer if past is None else past.extended(newer)

    def forward(
        self,
        query: Float[Tensor, "*B Q M"],
        key: Float[Tensor, "*B K E"],
        value: Float[Tensor, "*B K V"],
        *,
        mask: Bool[Tensor, "*#B #Q #K"] | None = None,
    ) -> Attended:
        """Ask keys for values, and show every head's weights [*B, H, Q, K] beside the answer."""
        return self.attend(query, self.remember(key, value), mask=mask)

    def attend(
        self,
        query: Float[Tensor, "*B Q M"],
        memory: KeyValueCache,
        *,
        bias: Float[Tensor, "*#B #H #Q #K"] | None = None,
        mask: Bool[Tensor, "*#B #Q #K"] | None = None,
    ) -> Attended:
        """Ask what is remembered, and show every head's weights [*B, H, Q, K] beside the answer.

        A query with no key left receives zeros from every head: the output projection's bias.
        `bias` is added to each head's own logits.
        """
        answer = attend(
            self._split(self.query_projection(query)),
            memory.key,
            memory.value,
            bias=bias,
            mask=_for_every_head(mask),
            dropout=self._dropout_now(),
        )
        return Attended(self._join(answer.mixed), answer.weights)

    def mix(
        self,
        query: Float[Tensor, "*B Q M"],
        memory: KeyValueCache,
        *,
        bias: Float[Tensor, "*#B #H #Q #K"] | None = None,
        mask: Bool[Tensor, "*#B #Q #K"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "*B Q M"]:
        """Ask what is remembered, through the fused kernel: the answer of `attend` alone.

        `causal` hides the future as in `fused_attend`: the queries are the last of the memory.
        """
        mixed = fused_attend(
            self._split(self.query_projection(query)),
            memory.key,
            memory.value,
            bias=bias,
            mask=_for_every_head(mask),
            causal=causal,
            dropout=self._dropout_now(),
        )
        return self._join(mixed)

    def mix_near(
        self,
        query: Float[Tensor, "*B N M"],
        memory: KeyValueCache,
        window: Window,
        *,
        mask: Bool[Tensor, "*#B N"] | None = None,
    ) -> Float[Tensor, "*B N M"]:
        """Let the tokens of a text ask those in their window, at a cost linear in the length.

        `mask` has the real tokens.
        """
        mixed = windowed_attend(
            self._split(self.query_projection(query)),
            memory.key,
            memory.value,
            window,
            mask=None if mask is None else mask.unsqueeze(-2),
            dropout=self._dropout_now(),
        )
        return self._join(mixed)

    def mix_packed(
        self,
        states: Float[Tensor, "N M"],
        packing: Packing,
        *,
        causal: bool = False,
        window: Window | None = None,
    ) -> Float[Tensor, "N M"]:
        """Let the tokens of each sequence ask each other, as `mix` or `mix_near` do row by row.

        Queries, keys and values are projected in one product, for which their weights are laid
        together; they must be equally wide.
        """
        layers = (self.query_projection, self.key_projection, self.value_projection)
        weights: list[Tensor] = [layer.weight for layer in layers]
        biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
        wide = F.linear(states, torch.cat(weights), torch.cat(biases) if biases else None)
        query, key, value = wide.view(len(states), 3, self.num_heads, -1).unbind(dim=1)
        mixed = packed_attend(
            query,
            key,
            value,
            packing,
            causal=causal,
            window=window,
            dropout=self._dropout_now(),
        )
        answer: Tensor = self.output_projection(mixed.flatten(start_dim=1))
        return answer

    def _dropout_now(self) -> float:
        return self.dropout if self.training else 0.0

    def _split(self, wide: Float[Tensor, "*B N M"]) -> Float[Tensor, "*B H N S"]:
        """Cut the width into heads, and put the heads among the batch axes."""
        head_size = wide.shape[-1] // self.num_heads
        by_head = wide.reshape(*wide.shape[:-1], self.num_heads, head_size)  # [*B, N, H, S]
        return by_head.transpose(-3, -2)

    def _join(self, mixed: Float[Tensor, "*B H Q S"]) -> Float[Tensor, "*B Q M"]:
        """Lay the heads' answers end to end and project them."""
        answer: Tensor = self.output_projection(mixed.transpose(-3, -2).flatten(-2))
        return answer


def _for_every_head(mask: Bool[Tensor, "*B Q K"] | None) -> Bool[Tensor, "*B 1 Q K"] | None:
    return None if mask is None else mask.unsqueeze(-3)
