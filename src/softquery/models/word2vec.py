"""word2vec.  Query: the words around.  Key: the word between them, and others.  Score: dot.

This is the oracle: the same objective in plain torch, with autograd. Models are trained by the
engines of `softquery.training.word2vec`, which are tested against it.

Mikolov et al. (2013a), "Efficient Estimation of Word Representations in Vector Space", Section 3,
and (2013b), "Distributed Representations of Words and Phrases and their Compositionality",
Section 2. A word has two vectors: one as query (`input`), one as key (`output`). Training raises
the scores of words that occur near each other and lowers those of sampled words. Here the picture
of the soft query bends: scores are compared with labels, and nothing is mixed by them. The query
vectors are kept.

Differs from paper: in skip-gram the words of a window ask for the word between them, instead of the
word in the middle asking for each of them. A window that reaches equally far to both sides holds
the same pairs either way, and so the middle word and its noise serve a whole window (Ji et al.
2016, Section 3).

B windows, C words around, R rows of a word (its own and its n-grams'), H vectors that ask (C in
skip-gram, 1 in CBOW), T targets, D width.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from softquery.attention import dot
from softquery.data import Windows

Architecture = Literal["skipgram", "cbow"]
Objective = Literal["negative", "nce", "hierarchical"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Word2VecConfig:
    """Sizes of word2vec, its architecture and its objective."""

    vocab_size: int = 0
    """Words; 0 until the corpus is known."""
    embedding_size: int = 100
    architecture: Architecture = "skipgram"
    """`"skipgram"`: every word around is a query; `"cbow"`: their mean is."""
    objective: Objective = "negative"
    """Distinguish the true word from noise by negative sampling (`"negative"`) or by
    noise-contrastive estimation (`"nce"`), or find it in a tree (`"hierarchical"`)."""
    num_buckets: int = 0
    """Buckets of character n-grams that are part of a word's vector; 0 for whole words alone.
    fastText has 2,000,000."""
    min_ngram: int = 3
    max_ngram: int = 6

    def __post_init__(self) -> None:
        if self.architecture not in ("skipgram", "cbow"):
            raise ValueError(f"architecture must be skipgram or cbow, got {self.architecture!r}")
        if self.objective not in ("negative", "nce", "hierarchical"):
            raise ValueError(
                f"objective must be negative, nce or hierarchical, got {self.objective!r}"
            )
        if not 1 <= self.embedding_size <= 4096:
            raise ValueError(f"embedding_size must be from 1 to 4,096, got {self.embedding_size}")
        if self.vocab_size < 0 or self.num_buckets < 0:
            raise ValueError("vocab_size and num_buckets must not be negative")
        if not 1 <= self.min_ngram <= self.max_ngram <= 32:
            raise ValueError(
                "expected 1 <= min_ngram <= max_ngram <= 32, "
                f"got {self.min_ngram} and {self.max_ngram}"
            )


@dataclass(frozen=True, slots=True)
class WindowOutput:
    """Scores, and which of them count."""

    scores: Float[Tensor, "B H T"]
    mask: Bool[Tensor, "B H T"]


class Word2Vec(nn.Module):
    """Two tables of vectors and their dot products.

    Args:
        config: The sizes.
        num_rows: Input rows: words, and the n-grams that occur in them.
    """

    def __init__(self, config: Word2VecConfig, *, num_rows: int | None = None) -> None:
        super().__init__()
        self.config = config
        size = config.embedding_size
        num_targets = config.vocab_size - (config.objective == "hierarchical")
        self.input = nn.Parameter(torch.empty(num_rows or config.vocab_size, size))
        self.output = nn.Parameter(torch.zeros(num_targets, size))
        # As in the authors' program: small random queries, and keys of zeros.
        nn.init.uniform_(self.input, -0.5 / size, 0.5 / size)
        if config.objective == "nce":
            self.bias = nn.Parameter(torch.zeros(num_targets))

    def forward(self, windows: Windows) -> WindowOutput:
        """Scores of the words around with every target."""
        query, query_mask = self.hidden(windows)
        scores = dot(query, self.output[windows.targets])  # [B, H, T]
        if self.config.objective == "nce":
            scores = scores + self.bias[windows.targets][:, None]
        scores = scores + windows.offset[:, None]
        return WindowOutput(scores, query_mask[:, :, None] & windows.target_mask[:, None])

    def hidden(self, windows: Windows) -> tuple[Float[Tensor, "B H D"], Bool[Tensor, "B H"]]:
        """The queries: their mean, or each word around (2013a, Sections 3.1 and 3.2)."""
        rows, mask = windows.rows, windows.row_mask
        if self.config.architecture == "cbow":
            rows, mask = rows.flatten(1)[:, None], mask.flatten(1)[:, None]  # [B, 1, C * R]
        return eager_mean(self.input[rows], mask), mask.any(dim=-1)


def eager_mean(
    vectors: Float[Tensor, "*B R D"], mask: Bool[Tensor, "*B R"]
) -> Float[Tensor, "*B D"]:
    """The mean of the real vectors, each of which gets the whole gradient of the mean.

    Differs from paper: a mean would pass on to each part only its share of the gradient. The
    programs of word2vec and fastText (Bojanowski et al. 2017, whose paper has a sum) pass on the
    whole of it, and their learning rates are chosen for that.
    """
    total = (vectors * mask[..., None]).sum(dim=-2)
    count = mask.sum(dim=-1, keepdim=True).clamp(min=1)
    return total + (total / count - total).detach()
