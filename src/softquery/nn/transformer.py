"""Blocks of a Transformer: attention and a feed-forward network, each with a residual connection.

B sentences, T tokens, N tokens of sequences end to end, S tokens of the source, H heads, D width.
"""

from typing import Literal, NamedTuple, get_args

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.attention import (
    KeyValueCache,
    MultiHead,
    Packing,
    Window,
    both,
    causal_mask,
    near_mask,
)
from softquery.nn.small_layers import LayerNorm

NormPlace = Literal["post", "pre"]
BlockActivation = Literal["relu", "gelu", "gelu_tanh"]
Weights = Literal["hidden", "shown"]
"""Through the fused kernel, or with the attention weights of every head as well."""


class FeedForward(nn.Module):
    """Two linear layers with an activation between them (Vaswani et al. 2017, Eq. 2).

    Args:
        hidden_size: Width of input and output.
        inner_size: Width in between.
        activation: `"relu"`, `"gelu"` (Hendrycks & Gimpel 2016), or its approximation by a tanh.
        dropout: Dropout of the inner layer.
    """

    def __init__(
        self,
        hidden_size: int,
        inner_size: int,
        *,
        activation: BlockActivation = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if activation not in get_args(BlockActivation):
            raise ValueError(
                f"activation must be one of {get_args(BlockActivation)}, got {activation!r}"
            )
        self.activation = activation
        self.widen = nn.Linear(hidden_size, inner_size)
        self.narrow = nn.Linear(inner_size, hidden_size)
        self.dropout = nn.Dropout(dropout)
        for layer in (self.widen, self.narrow):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Transform each token separately."""
        inner = activated(self.widen(states), self.activation)
        answer: Tensor = self.narrow(self.dropout(inner))
        return answer


def activated(states: Float[Tensor, "*B D"], activation: BlockActivation) -> Float[Tensor, "*B D"]:
    """Apply the activation elementwise."""
    if activation == "relu":
        return F.relu(states)
    return F.gelu(states, approximate="tanh" if activation == "gelu_tanh" else "none")


class Residual(nn.Module):
    """A residual connection with layer normalisation after the sum, or before the sublayer.

    `"post"` is norm(x + f(x)) (Vaswani et al. 2017, Section 3.1), `"pre"` x + f(norm(x)) (Xiong et
    al. 2020, Section 3), which needs no warm-up but one more normalisation at the top of a stack.

    Args:
        size: Width.
        norm: `"post"` or `"pre"`.
        dropout: Dropout of the sublayer's output (Section 5.4).
        eps: Epsilon of the normalisation.
    """

    def __init__(
        self, size: int, *, norm: NormPlace = "post", dropout: float = 0.0, eps: float = 1e-5
    ) -> None:
        super().__init__()
        if norm not in get_args(NormPlace):
            raise ValueError(f"norm must be one of {get_args(NormPlace)}, got {norm!r}")
        self.place = norm
        self.norm = LayerNorm(size, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def enter(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """What the sublayer reads."""
        return self.norm(states) if self.place == "pre" else states

    def leave(
        self, states: Float[Tensor, "*B D"], answer: Float[Tensor, "*B D"]
    ) -> Float[Tensor, "*B D"]:
        """The sum of what went in and the sublayer's output."""
        total: Tensor = states + self.dropout(answer)
        return self.norm(total) if self.place == "post" else total


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward network (Vaswani et al. 2017, Section 3.1).

    Args:
        attention: The heads.
        feed_forward: The feed-forward network.
        norm: Whether normalisation comes after each sum or before each sublayer.
        dropout: Dropout of both sublayers' outputs.
        eps: Epsilon of the normalisation.
    """

    def __init__(
        self,
        attention: MultiHead,
        feed_forward: FeedForward,
        *,
        norm: NormPlace = "post",
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        size = attention.output_projection.out_features
        self.attention, self.feed_forward = attention, feed_forward
        # `around_*` are residual connections; their names are those of stored weights.
        self.around_attention = Residual(size, norm=norm, dropout=dropout, eps=eps)
        self.around_feed_forward = Residual(size, norm=norm, dropout=dropout, eps=eps)

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
        *,
        bias: Float[Tensor, "#B #H T T"] | None = None,
        causal: bool = False,
        window: Window | None = None,
        weights: Weights = "hidden",
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T T"] | None]:
        """New states, and the weights if they are shown.

        Args:
            states: Of every token.
            mask: The real tokens.
            bias: Added to every head's logits.
            causal: Hide what follows.
            window: Hide what stands further off; not with `bias` or `causal`.
            weights: Whether attention weights are shown.
        """
        asked = self.around_attention.enter(states)
        memory = self.attention.remember(asked, asked)
        shown = None
        if window is not None and weights == "hidden":
            answer = self.attention.mix_near(asked, memory, window, mask=mask)
        else:
            seen = mask.unsqueeze(1)
            if window is not None:
                seen = seen & near_mask(mask.shape[1], window, device=mask.device)
            answer, shown = ask(
                self.attention, asked, memory, bias=bias, mask=seen, causal=causal, weights=weights
            )
        return self._transform(self.around_attention.leave(states, answer)), shown

    def read_packed(
        self,
        states: Float[Tensor, "N D"],
        packing: Packing,
        *,
        causal: bool = False,
        window: Window | None = None,
    ) -> Float[Tensor, "N D"]:
        """The same for sequences end to end, without padding."""
        asked = self.around_attention.enter(states)
        answer = self.attention.mix_packed(asked, packing, causal=causal, window=window)
        return self._transform(self.around_attention.leave(states, answer))

    def _transform(self, states: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        inner = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, inner)


class DecoderOutput(NamedTuple):
    """New states, all keys and values so far, and the attention weights if they are shown."""

    states: Float[Tensor, "B T D"]
    past: KeyValueCache
    own_weights: Float[Tensor, "B H T P"] | None
    source_weights: Float[Tensor, "B H T S"] | None


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source, a feed-forward network (Section 3.1).

    Args:
        own_attention: The heads that ask the tokens before.
        source_attention: The heads that ask the source.
        feed_forward: The feed-forward network.
        norm: Whether normalisation comes after each sum or before each sublayer.
        dropout: Dropout of all sublayers' outputs.
        eps: Epsilon of the normalisation.
    """

    def __init__(
        self,
        own_attention: MultiHead,
        source_attention: MultiHead,
        feed_forward: FeedForward,
        *,
        norm: NormPlace = "post",
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        size = own_attention.output_projection.out_features
        self.own_attention, self.source_attention = own_attention, source_attention
        self.feed_forward = feed_forward
        self.around_own, self.around_source, self.around_feed_forward = (
            Residual(size, norm=norm, dropout=dropout, eps=eps) for _ in range(3)
        )

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        source: KeyValueCache,
        source_mask: Bool[Tensor, "B S"],
        *,
        past: KeyValueCache | None = None,
        weights: Weights = "hidden",
    ) -> DecoderOutput:
        """Continue after the past by one token or by many.

        Padding needs no mask here: it follows all real tokens, which see only what precedes them.

        Args:
            states: The new tokens.
            source: What `source_attention.remember` made of the source.
            source_mask: Its real tokens.
            past: The keys and values of the tokens before.
            weights: Whether attention weights are shown.
        """
        asked = self.around_own.enter(states)
        past = self.own_attention.remember(asked, asked, past=past)
        answer, own = ask(self.own_attention, asked, past, causal=True, weights=weights)
        states = self.around_own.leave(states, answer)
        answer, seen = ask(
            self.source_attention,
            self.around_source.enter(states),
            source,
            mask=source_mask.unsqueeze(1),
            weights=weights,
        )
        states = self.around_source.leave(states, answer)
        inner = self.feed_forward(self.around_feed_forward.enter(states))
        states = self.around_feed_forward.leave(states, inner)
        return DecoderOutput(states, past, own, seen)


def ask(
    heads: MultiHead,
    query: Float[Tensor, "B T D"],
    memory: KeyValueCache,
    *,
    bias: Float[Tensor, "#B #H T P"] | None = None,
    mask: Bool[Tensor, "B #T P"] | None = None,
    causal: bool = False,
    weights: Weights = "hidden",
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T P"] | None]:
    """The heads' output, and their weights if they are shown."""
    if weights == "hidden":
        return heads.mix(query, memory, bias=bias, mask=mask, causal=causal), None
    if causal:
        length = query.shape[-2]
        mask = both(mask, causal_mask(length, memory.num_keys, device=query.device))
    answer = heads.attend(query, memory, bias=bias, mask=mask)
    return answer.mixed, answer.weights
