"""Words in context as a brick: a biLM's mixed layers, to be put into any model of a task.

B sentences, T tokens, C characters of a type, D width.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.nn.embedding import Embedded, WordEmbedding
from softquery.nn.lexicon import Lexicon
from softquery.nn.pooling import LayerMix
from softquery.text import BOS_ID, EOS_ID, PAD_ID, UNK_ID

Place = Literal["input", "output"]
Tuning = Literal["frozen", "tuned"]
Ends = Literal["there", "added"]
Layers = Literal["all", "last"]
CHUNK = 1024
"""Types that a frozen biLM reads at a time, beforehand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ElmoSettings:
    """How a task model uses a biLM; the defaults are the paper's for inference (Appendix A.2)."""

    bundle: str = ""
    """The biLM: a folder, or a name."""
    places: tuple[Place, ...] = ("input", "output")
    """Where its vectors come in, each with weights of its own."""
    tuning: Tuning = "frozen"
    """Whether the biLM itself learns along."""
    beside_words: bool = True
    """Whether a table of words is laid beside the vectors at the input."""
    normalise: bool = False
    penalty: float = 0.001
    """λ of λ‖w‖² on the weights of the mix."""
    dropout: float = 0.5
    learn_scale: bool = True
    layers: Layers = "all"
    """What is mixed; `"last"` takes the highest layer alone."""
    size: int = 0
    """Width that mixed vectors are projected to, at each place by itself; 0 keeps the biLM's."""

    def __post_init__(self) -> None:
        _check("tuning", self.tuning, get_args(Tuning))
        _check("layers", self.layers, get_args(Layers))
        for place in self.places:
            _check("places", place, get_args(Place))
        if self.penalty < 0 or not 0 <= self.dropout < 1:
            raise ValueError("penalty must not be negative, and dropout must be in [0, 1)")
        if self.size < 0:
            raise ValueError(f"size must not be negative, got {self.size}")

    def embedder(
        self,
        bilm: nn.Module,
        characters: Shaped[Tensor, "types C"],
        *,
        word_size: int,
        ends: Ends,
        num_words: int | None = None,
        word_dropout: float = 0.0,
    ) -> "ElmoEmbedder":
        """The brick that these settings describe.

        Args:
            bilm: The biLM.
            characters: How each id is spelt; no rows where batches bring a lexicon.
            word_size: Width of the table of words, where there is one.
            ends: Whether sentences come with their two ends.
            num_words: Rows of that table; one for each of `characters` by default.
            word_dropout: Share of words that the table reads as `<unk>` in training.
        """
        mixes = {
            place: LayerMix(
                1 if self.layers == "last" else bilm.num_layers,  # type: ignore[arg-type]
                normalise=self.normalise,
                penalty=self.penalty,
                dropout=self.dropout,
                learn_scale=self.learn_scale,
            )
            for place in self.places
        }
        words = None
        if self.beside_words:
            size = len(characters) if num_words is None else num_words
            words = WordEmbedding(size, word_size, word_dropout=word_dropout)
        made = ElmoEmbedder(
            bilm, characters, mixes, words=words, tuning=self.tuning, ends=ends, size=self.size
        )
        made.settings = self
        return made


class BiLm(Protocol):
    """What is asked of a biLM; `softquery.models.Elmo` answers."""

    num_layers: int
    output_size: int

    def read_tokens(self, characters: Tensor) -> Tensor:
        """Vectors of tokens from characters alone."""

    def contextualise(self, vectors: Tensor, mask: Tensor) -> Any:
        """All `layers` for sentences of such vectors."""


class ElmoEmbedder(nn.Module):
    """From ids to ELMo vectors, beside those of a table of words (Peters et al. 2018, Section 3.3).

    A mix at each place, with weights of its own. Where a lexicon comes with the ids, they are its
    rows, and every word is spelt by its own characters; else ids are those of `characters`, of
    which those beyond the table of words are `<unk>` to it.

    Args:
        bilm: A trained biLM; it becomes a part of this module.
        characters: How each id is spelt (`softquery.text.spell_vocabulary`) where no lexicon comes
            with it.
        mixes: The mix of each place that gets one; `"input"`, `"output"` or both.
        words: A table of words to lay beside the mix at the input; needed where there is none.
        tuning: `"frozen"` keeps the biLM as it is, and its reading of types is done beforehand;
            `"tuned"` trains it along.
        ends: Whether sentences come with `<bos>` and `<eos>`, or have them added for the biLM.
        size: Width that mixed vectors are projected to; 0 keeps the biLM's.
    """

    characters: Tensor
    vectors: Tensor

    def __init__(
        self,
        bilm: nn.Module,
        characters: Shaped[Tensor, "types C"],
        mixes: dict[Place, LayerMix],
        *,
        words: WordEmbedding | None = None,
        tuning: Tuning = "frozen",
        ends: Ends = "added",
        size: int = 0,
    ) -> None:
        super().__init__()
        _check("tuning", tuning, get_args(Tuning))
        _check("ends", ends, get_args(Ends))
        for place in mixes:
            _check("a place", place, get_args(Place))
        if not mixes or (words is None and "input" not in mixes):
            raise ValueError("without a table of words there must be a mix at the input")
        self.bilm, self.words, self.tuning, self.ends = bilm, words, tuning, ends
        self.settings: ElmoSettings | None = None
        self.mixes = nn.ModuleDict(dict(mixes.items()))
        given: int = bilm.output_size  # type: ignore[assignment]
        width = size or given
        self.projections = nn.ModuleDict(
            {place: nn.Linear(given, width, bias=False) for place in mixes} if size else {}
        )
        own = 0 if words is None else words.output_size
        self.output_size = own + (width if "input" in mixes else 0)
        self.added_size = width if "output" in mixes else 0
        self.register_buffer("characters", characters)
        self.register_buffer("vectors", torch.empty(0), persistent=False)
        # What was read beforehand goes when other weights come.
        self.register_load_state_dict_post_hook(_forget_after_loading)  # type: ignore[no-untyped-call]
        if tuning == "frozen":
            bilm.requires_grad_(False).eval()

    def forward(self, ids: Int[Tensor, "B T"], lexicon: Lexicon | None = None) -> Tensor | Embedded:
        """Vectors for the input; with a mix at the output, both."""
        lexicon = self._own() if lexicon is None else lexicon
        layers = self.layers(ids, lexicon)
        mask = (ids != PAD_ID).unsqueeze(-1)
        mixed = {
            place: mix(layers[-len(mix.weights) :]) * mask  # type: ignore[arg-type]
            for place, mix in self.mixes.items()
        }
        mixed |= {place: matrix(mixed[place]) for place, matrix in self.projections.items()}
        parts = [] if self.words is None else [self.words(ids, lexicon)]
        parts += [mixed["input"]] if "input" in mixed else []
        inputs = torch.cat(parts, dim=-1)
        return Embedded(inputs, mixed["output"]) if "output" in mixed else inputs

    def regulariser(self) -> Float[Tensor, ""]:
        """λ‖w‖² of every mix, to be added to the task's loss."""
        return torch.stack([mix.regulariser() for mix in self.mixes.values()]).sum()  # type: ignore[operator]

    def train(self, mode: bool = True) -> "ElmoEmbedder":
        """A frozen biLM stays in evaluation, whatever the rest does."""
        super().train(mode)
        if self.tuning == "frozen":
            self.bilm.eval()
        return self

    def _forget(self) -> None:
        self.vectors = self.vectors[:0]

    def read(self, lexicon: Lexicon) -> Lexicon:
        """The lexicon with what a frozen biLM reads in its words, to be used again and again."""
        if self.tuning != "frozen":
            return lexicon
        return lexicon._replace(vectors=self.read_words(lexicon.characters))

    @torch.no_grad()
    def read_words(self, characters: Shaped[Tensor, "U C"]) -> Float[Tensor, "U P"]:
        """What the biLM as it is reads in words by themselves."""
        bilm: BiLm = self.bilm  # type: ignore[assignment]
        return torch.cat([bilm.read_tokens(some) for some in torch.split(characters, CHUNK)])

    def _own(self) -> Lexicon:
        """The closed vocabulary; a frozen biLM reads it when it is first asked for."""
        words = torch.arange(len(self.characters), device=self.characters.device)
        if self.words is not None:
            words = torch.where(words < self.words.table.num_embeddings, words, UNK_ID)
        lexicon = Lexicon(self.characters, words)
        if self.tuning == "frozen" and len(self.vectors) != len(self.characters):
            self.vectors = self.read(lexicon).vectors  # type: ignore[assignment]
        return lexicon._replace(vectors=self.vectors) if self.tuning == "frozen" else lexicon

    def layers(self, ids: Int[Tensor, "B T"], lexicon: Lexicon) -> Float[Tensor, "L B T D"]:
        """All layers of the biLM at the tokens of `ids`."""
        if lexicon.contexts is not None and self.tuning == "frozen":
            return lexicon.contexts.look_up(ids)
        if self.ends == "there":
            return self._contextual(ids, lexicon)
        wrapped = F.pad(ids, (1, 1), value=PAD_ID)
        wrapped[:, 0] = BOS_ID
        last = (ids != PAD_ID).sum(dim=1, keepdim=True) + 1
        return self._contextual(wrapped.scatter(1, last, EOS_ID), lexicon)[:, :, 1:-1]

    def _contextual(self, ids: Tensor, lexicon: Lexicon) -> Tensor:
        bilm: BiLm = self.bilm  # type: ignore[assignment]
        mask = ids != PAD_ID
        with torch.no_grad() if self.tuning == "frozen" else nullcontext():
            if lexicon.vectors is not None:
                vectors = lexicon.vectors[ids]
            else:
                types, places = torch.unique(ids, return_inverse=True)
                vectors = bilm.read_tokens(lexicon.characters[types])[places]
            layers: Tensor = bilm.contextualise(vectors, mask).layers
        return layers


def _forget_after_loading(embedder: ElmoEmbedder, _: object) -> None:
    embedder._forget()


def _check(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
