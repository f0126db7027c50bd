"""The models that write, in every shape that a config can give them."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args

import torch
from torch import nn

from registered import registered
from softquery.data import Sentences, Tokens, TranslationBatch
from softquery.models import AskingConfig
from softquery.models.seq2seq import Asker
from softquery.nn import ScoreName

GENERATORS = registered("generator")

SIZES = {
    "seq2seq": {"embedding_size": 6, "hidden_size": 5},
    "transformer": {
        "hidden_size": 8, "num_heads": 2, "inner_size": 12, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "max_length": 40,
    },
}  # fmt: skip
BOS, EOS = 2, 3

RAGGED = [
    ([5, 6, 7, 8], [9, 10]),
    ([4], [4, 5, 6, 7, 8]),
    ([8, 9, 10], []),
    ([], [6]),
    ([11, 4, 5, 6, 7], [5]),
]
"""Long and short, one word and none; the ends are put around them."""

FOUR = [([4, 5, 6], [7, 8]), ([6, 5], [9, 10, 4]), ([7], [5, 5]), ([8, 9, 10, 4], [11])]
"""Enough to learn by heart."""


@dataclass(frozen=True, kw_only=True)
class GeneratorCase:
    """One config of one model."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        values = (
            f"{value.asker}+{value.score}" + ("" if value.input_feeding else "+unfed")
            if isinstance(value, AskingConfig)
            else str(value)
            for value in self.settings.values()
        )
        return "-".join([self.name, *values])

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> nn.Module:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        config, model = GENERATORS[self.name]
        words = {"source_vocab_size": 12, "target_vocab_size": 12}
        return model(config(**{**words, **SIZES[self.name], **self.settings}, dropout=dropout))


def tokens(sentences: list[list[int]], *, extra_pad: int = 0) -> Tokens:
    """Sentences between their ends, padded to the longest and some more."""
    wrapped = [[BOS, *sentence, EOS] for sentence in sentences]
    length = max(map(len, wrapped)) + extra_pad
    return Sentences.pack(wrapped).pad(torch.arange(len(wrapped)), length)


def batch(rows: list[Any] = RAGGED, *, extra_pad: tuple[int, int] = (0, 0)) -> TranslationBatch:
    """Rows as a batch, each side as long as its longest and `extra_pad`."""
    source, target = (tokens([row[side] for row in rows], extra_pad=extra_pad[side])
                      for side in (0, 1))  # fmt: skip
    return TranslationBatch(source, target)


def _recurrent(**settings: Any) -> GeneratorCase:
    return GeneratorCase(name="seq2seq", settings=settings)


def _transformer(**settings: Any) -> GeneratorCase:
    return GeneratorCase(name="transformer", settings=settings)


def _asking(asker: str, score: str, **more: Any) -> AskingConfig:
    return AskingConfig(asker=asker, score=score, **more)


LEARNERS = [
    _recurrent(context="first_state", cell="lstm", direction="backwards", num_layers=2),
    _recurrent(context="every_step", direction="forwards"),
    _recurrent(context="mean"),
    _recurrent(context="max", cell="lstm", num_layers=2),
    _recurrent(attention=_asking("previous", "additive")),
    _recurrent(attention=_asking("current", "general"), cell="lstm", direction="backwards"),
    _recurrent(attention=_asking("current", "dot", input_feeding=False)),
    _recurrent(attention=_asking("current", "general"), cell="lstm", tie="all"),
    _transformer(),
    _transformer(norm="pre", positions="learned", tie="none", activation="gelu"),
]
"""The published systems, and one of each kind."""

CASES = [
    *LEARNERS,
    *(
        _recurrent(cell=cell, context=context, direction=direction, num_layers=layers)
        for cell, context, (direction, layers) in product(
            ("rnn", "lstm"),
            ("first_state", "every_step", "attention"),
            (("both", 2), ("forwards", 1)),
        )
    ),
    *(
        _recurrent(attention=_asking(asker, score), direction=direction)
        for asker, score in product(get_args(Asker), get_args(ScoreName))
        for direction in (("backwards",) if score == "cosine" else ("both",))
        if (asker, score) != ("previous", "additive")
    ),
    _recurrent(attention=_asking("current", "additive", input_feeding=False), num_layers=2),
    _recurrent(attention=_asking("previous", "additive", hidden_size=3), cell="lstm", num_layers=2),
    *(_recurrent(tie=tie, context=context) for tie, context in product(
        ("output", "all"), ("first_state", "attention"))),
    _recurrent(own_words=0.0, tie="all", attention=_asking("current", "scaled_dot")),
    _transformer(norm="pre"),
    _transformer(positions="learned"),
    _transformer(tie="output", activation="gelu_tanh"),
    _transformer(num_encoder_layers=1, num_decoder_layers=3, norm="pre", tie="none"),
]  # fmt: skip
