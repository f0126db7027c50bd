"""Decomposable attention (Parikh et al., 2016).  Query: each token.  Key, value: the other side's.

Score: dot. Parikh, Täckström, Das, Uszkoreit: "A Decomposable Attention Model for Natural Language
Inference", EMNLP 2016; section and equation numbers below are the paper's. There is no recurrence:
a pair is taken apart into comparisons of a token with what the other sentence says about it.

B pairs, P tokens of the first sentence, H of the second, T of either, S = hidden_size, E width of a
token after intra-sentence attention (2 S with it, S without), C outputs.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.attention import Attended, attend, dot
from softquery.data import PairBatch, Tokens
from softquery.models.config_checks import check_dropout, check_positive
from softquery.models.pair_output import EncodedSentence, PairOutput
from softquery.nn import Embedded, Lexicon, TokenEmbedder, WordEmbedding


@dataclass(frozen=True, kw_only=True, slots=True)
class DecomposableConfig:
    """Sizes of a decomposable attention model; the defaults are the paper's (Section 5.2)."""

    vocab_size: int = 0
    """Words, padding included; 0 until the data is known."""
    output_size: int = 3
    """Classes, or 1 for a graded score."""
    embedding_size: int = 300
    hidden_size: int = 200
    """Width of the projected words and of every layer of the networks."""
    dropout: float = 0.2
    max_distance: int = 10
    """In intra-sentence attention, the farthest distance that has a bias of its own; farther tokens
    share it. 0 for a model without intra-sentence attention."""

    def __post_init__(self) -> None:
        check_positive(self, "output_size", "embedding_size", "hidden_size")
        if self.max_distance < 0:
            raise ValueError(f"max_distance must not be negative, got {self.max_distance}")
        check_dropout(self, "dropout")


class Decomposable(nn.Module):
    """Attend, compare, aggregate: three small networks and one soft query in each direction.

    The first layer of the comparison G is kept in two parts, W [a; β] = W1 a + W2 β: because β is a
    mixture of the other sentence's tokens, both products belong to `encode` once a model is
    exported.

    Differs from paper: word vectors may learn with the rest, unknown words share one vector, and
    weights start by Xavier's rule.

    Args:
        config: The sizes.
        embedder: Gives tokens their vectors; a trainable table of words by default. It must have
            nothing to lay beside an encoder's states, because there is no encoder.
    """

    def __init__(self, config: DecomposableConfig, embedder: TokenEmbedder | None = None) -> None:
        super().__init__()
        self.config = config
        if embedder is None:
            embedder = WordEmbedding(config.vocab_size, config.embedding_size)
        if embedder.added_size:
            raise ValueError("ELMo has a place at the input alone; nothing reads it at the output")
        self.embedder = embedder
        size, dropout = config.hidden_size, config.dropout
        self.projection = nn.Linear(embedder.output_size, size, bias=False)
        self.intra = IntraAttention(config) if config.max_distance else None
        width = size if self.intra is None else 2 * size
        self.attend = network(width, size, dropout)
        self.dropout = nn.Dropout(dropout)
        self.compare_own = nn.Linear(width, size)
        self.compare_aligned = nn.Linear(width, size, bias=False)
        self.compare_hidden = nn.Sequential(
            nn.ReLU(), nn.Dropout(dropout), nn.Linear(size, size), nn.ReLU()
        )
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(2 * size, size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(size, config.output_size),
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, batch: PairBatch) -> PairOutput:
        """Read both sides in one go (nothing differs between them) and compare them."""
        both = self.encode(batch.first.beside(batch.second), batch.lexicon)
        states, masks = batch.apart(both.states), batch.apart(both.mask)
        return self.compare(*map(EncodedSentence, states, masks))

    def encode(self, tokens: Tokens, lexicon: Lexicon | None = None) -> EncodedSentence:
        """F(a) and a of every token, with what its own sentence says about it (Section 3.4)."""
        embedded = Embedded.of(self.embedder(tokens.ids, lexicon)).at_input
        words = self.projection(F.normalize(embedded, dim=-1))  # [B, T, S]
        if self.intra is not None:
            words = self.intra(words, tokens.mask)  # [B, T, 2 S]
        return EncodedSentence(torch.cat([self.attend(words), words], dim=-1), tokens.mask)

    def compare(self, first: EncodedSentence, second: EncodedSentence) -> PairOutput:
        """Attend, compare and aggregate (Sections 3.1 to 3.3)."""
        to_second, to_first = self._align(first, second)
        pooled = [self._aggregate(first, to_second.mixed), self._aggregate(second, to_first.mixed)]
        logits = self.classifier(torch.cat(pooled, dim=-1))  # Eq. 5
        return PairOutput(logits, to_second.weights, to_first.weights)

    def _align(self, first: EncodedSentence, second: EncodedSentence) -> tuple[Attended, Attended]:
        """β and α: what each sentence says about the other's tokens (Section 3.1, Eqs. 1-2)."""
        (asked, one), (answered, other) = self._parts(first), self._parts(second)
        return (
            attend(asked, answered, other, score=dot, mask=second.mask.unsqueeze(1)),
            attend(answered, asked, one, score=dot, mask=first.mask.unsqueeze(1)),
        )

    def _parts(self, side: EncodedSentence) -> tuple[Tensor, Tensor]:
        """F(a) [B, T, S] and a [B, T, E] of an encoded sentence."""
        size = self.config.hidden_size
        return side.states[..., :size], side.states[..., size:]

    def _aggregate(
        self, own: EncodedSentence, aligned: Float[Tensor, "B T E"]
    ) -> Float[Tensor, "B S"]:
        """The sum of G([a; β]) over the sentence's tokens (Sections 3.2 and 3.3, Eqs. 3-4)."""
        local = self.compare_own(self.dropout(self._parts(own)[1]))
        local = local + self.compare_aligned(self.dropout(aligned))
        compared: Tensor = self.compare_hidden(local)
        return compared.masked_fill(~own.mask.unsqueeze(-1), 0.0).sum(dim=1)


class IntraAttention(nn.Module):
    """Every token beside what the tokens around it say about it (Section 3.4).

    Query, key: a network over the projected words. Value: the projected words. Score: dot, and a
    learned bias for the distance between two tokens.

    Args:
        config: The sizes.
    """

    def __init__(self, config: DecomposableConfig) -> None:
        super().__init__()
        self.max_distance = config.max_distance
        self.network = network(config.hidden_size, config.hidden_size, config.dropout)
        self.distance_bias = nn.Parameter(torch.zeros(2 * config.max_distance + 1))

    def forward(
        self, words: Float[Tensor, "B T S"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T 2*S"]:
        """[a; a'] of every token."""
        places = torch.arange(words.shape[1], device=words.device)
        apart = (places.unsqueeze(1) - places).clamp(-self.max_distance, self.max_distance)
        bias = self.distance_bias[apart + self.max_distance]  # [T, T]
        asked = self.network(words)
        aligned = attend(
            asked,
            asked,
            words,
            score=lambda query, key: dot(query, key) + bias,
            mask=mask.unsqueeze(1),
        ).mixed
        return torch.cat([words, aligned], dim=-1)


def network(size: int, hidden_size: int, dropout: float) -> nn.Sequential:
    """Two layers with rectified units: F, F_intra and the like (Section 5.2)."""
    return nn.Sequential(
        nn.Dropout(dropout),
        nn.Linear(size, hidden_size),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden_size, hidden_size),
        nn.ReLU(),
    )
