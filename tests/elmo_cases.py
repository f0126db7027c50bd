"""The biLM under contract, in every shape that its config can give it."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch

from softquery.data import StreamBatch, Streams
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.text import spell_sentences, spell_vocabulary

WORDS = ["the", "cat", "sat", "on", "mat", "dog", "ran", "and", "a", "man"]
ENTRIES = ["<pad>", "<unk>", "<bos>", "<eos>", *WORDS]
SENTENCES = [
    ["the", "cat", "sat"],
    ["a"],
    [],
    ["unheard-of", "man", "ran", "and", "ran"],
    ["dog", "dog"],
]
"""Long and short, one word and none, one that is in no vocabulary."""
SMALL = ElmoConfig(
    vocab_size=len(ENTRIES),
    characters=CharacterConfig(
        size=3, max_characters=9, widths=(1, 2), filters=(3, 4), num_highways=1
    ),
    hidden_size=7,
    projection_size=4,
    dropout=0.0,
)


@dataclass(frozen=True, kw_only=True)
class ElmoCase:
    """One config."""

    softmax: dict[str, Any] = field(default_factory=dict)
    characters: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        parts = {**self.softmax, **self.characters, **self.settings}
        return "-".join(f"{name}={value}" for name, value in parts.items()) or "default"

    @property
    def config(self) -> ElmoConfig:
        return replace(
            SMALL,
            softmax=SoftmaxConfig(**{"num_samples": 4, "correction_size": 2, **self.softmax}),
            characters=replace(SMALL.characters, **self.characters),
            **self.settings,
        )

    def build(self, *, dropout: float = 0.0, seed: int = 1) -> Elmo:
        """The model with the random weights of a seed, in training mode."""
        torch.manual_seed(seed)
        model = Elmo(replace(self.config, dropout=dropout))
        model.spell(torch.from_numpy(spell_vocabulary(ENTRIES, 9)))
        return model

    def batch(self, model: Elmo, *, stateful: bool = True, num_streams: int = 2) -> StreamBatch:
        """The first window of some streams."""
        streams = text(num_streams)
        batch = streams.batch(streams.slot(0, 6).rows, 6)
        return batch._replace(state=model.initial_state(num_streams)) if stateful else batch


VARIED = [[2, 4 + n % 10, 4 + (n + 3) % 10, 4 + (n * n) % 10, 3] for n in range(12)]
SIMPLE = [[2, 4, 5, 6, 3], [2, 7, 8, 9, 10, 3]]
"""Two lines in turn: enough to learn by heart."""


def text(num_streams: int = 2, *, lines: list[list[int]] = VARIED) -> Streams:
    """Lines as streams."""
    ahead = torch.tensor([word for line in lines for word in line])
    back = torch.tensor([word for line in lines for word in line[::-1]])
    characters = torch.from_numpy(spell_vocabulary(ENTRIES, 9))
    return Streams(ahead.int(), back.int(), characters, len(ENTRIES), num_streams)


def spelt(sentences: list[list[str]] = SENTENCES, *, extra_pad: int = 0):
    """Characters and mask of sentences, with more padding where asked."""
    characters, mask = (torch.from_numpy(part) for part in spell_sentences(sentences, 9))
    more = torch.nn.functional.pad
    return more(characters, (0, 0, 0, extra_pad)), more(mask, (0, extra_pad))


CASES = [
    ElmoCase(),
    ElmoCase(softmax={"kind": "full"}),
    ElmoCase(softmax={"kind": "adaptive"}),
    ElmoCase(softmax={"kind": "characters"}),
    ElmoCase(softmax={"kind": "characters", "num_samples": 0}),
    ElmoCase(softmax={"sampler": "unigram"}),
    ElmoCase(settings={"way": "fast"}),
    ElmoCase(settings={"way": "fast", "num_layers": 1}),
    ElmoCase(settings={"residual": False, "num_layers": 3}),
    ElmoCase(settings={"cell_clip": 0.0, "projection_clip": 0.0}),
    ElmoCase(settings={"cell_clip": 0.1, "projection_clip": 0.1}),
    ElmoCase(characters={"activation": "tanh", "num_highways": 0}),
    ElmoCase(settings={"reads": "words", "num_words": len(ENTRIES)}),
    ElmoCase(
        settings={"reads": "words", "num_words": len(ENTRIES)}, softmax={"kind": "characters"}
    ),
]
