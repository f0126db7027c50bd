"""What comes next? Log-probabilities of words: exact, from a sample, or from a tree of clusters.

A softmax here maps states and the words that came next to the log-probability of each of these
words. In training it may be an estimate; in evaluation it is exact. `WordHead` gives logits of all
words instead.

N states, D width, V words of the vocabulary, S sampled words, C characters of a word.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.nn.character_encoders import CharacterCnn
from softquery.nn.recurrent_layer import autocast_dtype
from softquery.nn.sampled_softmax import log_share
from softquery.nn.small_layers import LayerNorm
from softquery.nn.transformer import BlockActivation, activated

CHUNK = 4096
"""Words whose characters are read at a time when the vectors of all words are computed."""


class StoredVectors(nn.Module):
    """One stored vector per word.

    Args:
        vocab_size: Words.
        size: Width.
    """

    def __init__(self, vocab_size: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, ids: Int[Tensor, " N"]) -> Float[Tensor, "N D"]:
        """The vectors of some words."""
        return F.embedding(ids, self.weight)

    def table(self) -> Float[Tensor, "V D"]:
        """The vectors of all words."""
        return self.weight


class CharacterVectors(nn.Module):
    """A word's vector from its characters, and a small correction of its own.

    CNN(characters) + M · correction (Jozefowicz et al. 2016, Section 3.2). Words of similar
    spelling but different meaning are distinguished by the correction alone, which is narrow: a
    large vocabulary costs little.

    Args:
        cnn: Reads the characters; its `output_size` is the width.
        vocab_size: Words.
        max_characters: Symbols of a word.
        correction_size: Width of the correction; 0 for none.
    """

    spelling: Tensor

    def __init__(
        self, cnn: CharacterCnn, vocab_size: int, max_characters: int, correction_size: int
    ) -> None:
        super().__init__()
        self.cnn = cnn
        self.register_buffer("spelling", torch.zeros(vocab_size, max_characters, dtype=torch.int16))
        self.correction = self.expand = None
        if correction_size:
            self.correction = nn.Parameter(torch.empty(vocab_size, correction_size))
            self.expand = nn.Linear(correction_size, cnn.output_size, bias=False)
            nn.init.normal_(self.correction, std=0.1 * correction_size**-0.5)

    def spell(self, spelling: Shaped[Tensor, "V C"]) -> None:
        """Set the characters of all words; they are stored with the weights."""
        self.spelling.copy_(spelling)

    def forward(self, ids: Int[Tensor, " N"]) -> Float[Tensor, "N D"]:
        """The vectors of some words, each distinct one computed once."""
        distinct, place = torch.unique(ids, return_inverse=True)
        return self._computed(distinct)[place]

    def table(self) -> Float[Tensor, "V D"]:
        """The vectors of all words."""
        everyone = torch.arange(len(self.spelling), device=self.spelling.device)
        return torch.cat([self._computed(ids) for ids in torch.split(everyone, CHUNK)])

    def _computed(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.cnn(self.spelling[ids].int())
        if self.expand is not None and self.correction is not None:
            vectors = vectors + self.expand(F.embedding(ids, self.correction))
        return vectors


Sampler = Literal["log_uniform", "unigram"]
ROWS = 1024
"""States whose exact log-probabilities are held at a time."""


def log_uniform(vocab_size: int) -> Float[Tensor, " V"]:
    """A Zipfian estimate of how frequent words are whose ids are ordered by frequency.

    P(k) = log((k + 2) / (k + 1)) / log(V + 1), k counted from 0.

    >>> [round(share, 4) for share in log_uniform(3).tolist()]
    [0.5, 0.2925, 0.2075]
    """
    rank = torch.arange(1, vocab_size + 1, dtype=torch.float64)
    return (torch.log1p(1 / rank) / math.log(vocab_size + 1)).float()


class WordSoftmax(nn.Module):
    """A softmax over all words, trained in full or from a sample.

    With `num_samples`, a training step compares each state with the true next word and with S
    different words drawn from a noise distribution, the same ones for the whole batch. Every logit
    is lowered by the log of the probability that its word is drawn, so that frequent words, which
    are drawn more often, are not pushed down more (Jozefowicz et al. 2016, Section 3.1, after
    Bengio & Senécal 2008). A draw that hits the true word is left out.

    Use when: the full one up to some ten thousand words, the sampled one beyond. Compare: adaptive
    softmax needs no sample and is exact, but gives rare words a narrower state.

    Args:
        words: The vectors that states are compared with.
        vocab_size: Number of words.
        never: Ids that can never come next, such as padding; their probability is exactly 0.
        num_samples: S; 0, or as many as there are words, for the full softmax.
    """

    noise: Tensor
    allowed: Tensor

    def __init__(
        self,
        words: StoredVectors | CharacterVectors,
        vocab_size: int,
        *,
        never: Sequence[int] = (),
        num_samples: int = 0,
    ) -> None:
        super().__init__()
        self.words = words
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        allowed = torch.ones(vocab_size, dtype=torch.bool)
        allowed[list(never)] = False
        self.num_samples = num_samples if num_samples < int(allowed.sum()) else 0
        self.register_buffer("allowed", allowed, persistent=False)
        noise = torch.zeros(vocab_size)
        noise[allowed] = log_uniform(int(allowed.sum()))
        self.register_buffer("noise", noise, persistent=False)

    def set_noise(self, counts: Float[Tensor, " V"]) -> None:
        """Draw words in proportion to their counts; no word that may come next is ruled out."""
        counts = counts.to(self.noise).clamp(min=1.0) * self.allowed
        self.noise.copy_(counts / counts.sum())

    def forward(
        self, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> Float[Tensor, " N"]:
        """Log-probability of each target; in training an estimate where words are sampled."""
        if self.num_samples and self.training:
            return self._sampled(states, targets)
        return self.exact(states, targets, self.words.table())

    def exact(
        self, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"], table: Float[Tensor, "V D"]
    ) -> Float[Tensor, " N"]:
        """The exact log-probabilities, given the vectors of all words (`words.table()`)."""
        bias = self.bias.masked_fill(~self.allowed, -math.inf)
        parts = [
            -F.cross_entropy(F.linear(some, table).float() + bias, theirs, reduction="none")
            for some, theirs in zip(
                torch.split(states, ROWS), torch.split(targets, ROWS), strict=True
            )
        ]
        return torch.cat(parts)

    def _sampled(self, states: Tensor, targets: Tensor) -> Tensor:
        drawn, horizon = self.draw()
        ids = torch.cat([targets, drawn])
        offset = self.bias[ids] - self.log_chance(ids, horizon)
        kind = autocast_dtype(states)
        split = [len(targets), len(drawn)]
        came, others = torch.split(self.words(ids).to(kind), split)
        came_offset, others_offset = torch.split(offset, split)
        hits = self._hits(targets, drawn)
        return log_share(states.to(kind), came, others, came_offset, others_offset, hits)

    def _hits(self, targets: Tensor, drawn: Tensor) -> Int[Tensor, " N"]:
        """The place of each target among the sampled words; S where it is not among them."""
        places = torch.full_like(self.noise, len(drawn), dtype=torch.int64)
        places[drawn] = torch.arange(len(drawn), device=drawn.device)
        return places[targets]

    @torch.no_grad()
    def draw(self) -> tuple[Int[Tensor, " S"], Float[Tensor, ""]]:
        """S different words, and the horizon of the draw.

        Each word gets an exponential arrival time whose rate is its share of the noise. The first S
        to arrive are drawn; the horizon is the arrival of the next one.
        """
        arrivals = torch.empty_like(self.noise).exponential_() / self.noise
        times, words = arrivals.topk(self.num_samples + 1, largest=False)
        return words[:-1], times[-1]

    def log_chance(self, ids: Int[Tensor, " N"], horizon: Float[Tensor, ""]) -> Float[Tensor, " N"]:
        """Log of the probability that words arrive before the horizon, their expected count."""
        chance = -torch.expm1(-horizon * self.noise[ids])
        return chance.clamp(min=torch.finfo(chance.dtype).tiny).log()


class AdaptiveSoftmax(nn.Module):
    """Frequent words at once, rare ones in clusters of narrower states (Grave et al. 2017).

    Ids must be ordered by frequency, most frequent first. Exact in training, too.

    Args:
        size: Width of a state.
        vocab_size: Words.
        cutoffs: Where the clusters begin; empty for a choice by the size of the vocabulary.
    """

    def __init__(self, size: int, vocab_size: int, cutoffs: Sequence[int] = ()) -> None:
        super().__init__()
        chosen = list(cutoffs) or default_cutoffs(vocab_size)
        self.layer = nn.AdaptiveLogSoftmaxWithLoss(size, vocab_size, chosen, head_bias=True)

    def forward(
        self, states: Float[Tensor, "N D"], targets: Int[Tensor, " N"]
    ) -> Float[Tensor, " N"]:
        """Log-probability of each target."""
        with torch.autocast(states.device.type, enabled=False):  # torch's layer mixes dtypes there
            found: Tensor = self.layer(states.float(), targets).output
        return found


def default_cutoffs(vocab_size: int) -> list[int]:
    """A head of about a tenth of the words, and two clusters.

    >>> default_cutoffs(100_000), default_cutoffs(8)
    ([10000, 40000], [1, 4])
    """
    head = max(1, vocab_size // 10)
    return [head, max(head + 1, min(4 * head, vocab_size - 1))]


class WordHead(nn.Module):
    """One more layer, then logits by the table of tokens (Devlin et al. 2019, Section 3.1).

    Give it the states of the tokens to be predicted and no others: the product with the table is by
    far its most expensive part.

    Args:
        size: Width of a state.
        vocab_size: Words.
        table_size: Width of the table where it is another than a state's; 0 where it is not.
        activation: Activation of the layer.
        eps: Epsilon of its normalisation.
    """

    def __init__(
        self,
        size: int,
        vocab_size: int,
        *,
        table_size: int = 0,
        activation: BlockActivation = "gelu",
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.transform = nn.Linear(size, table_size or size)
        self.norm = LayerNorm(table_size or size, eps=eps)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(
        self, states: Float[Tensor, "M D"], table: Float[Tensor, "V E"]
    ) -> Float[Tensor, "M V"]:
        """Logits of all words."""
        changed = self.norm(activated(self.transform(states), self.activation))
        return nn.functional.linear(changed, table, self.bias)
