"""BERTs with heads under test, in every shape that their configs can give them, and batches."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bert_cases import CLS, PIECES, SEP, SMALL
from registered import registered_heads
from softquery import __version__
from softquery.answers import ContextWindow, ReadingRules, TagSet
from softquery.bundle import Bundle, BundleConfig, read_bundle, write_bundle
from softquery.data import PiecePairs, Sentences, WordPieces, encode_ids, encode_piece_windows
from softquery.runtime.torch_models import config_of
from softquery.tasks import PairClassification, SpanReading, Tagging, TextClassification
from softquery.text import TextConfig, TextPipeline, pipeline_from_pieces

BERT_HEADS = registered_heads()

CONFIG = TextConfig(unit="bert", strip_accents=True, boundaries=True, max_tokens=8)
TEXTS = [[5, 6, 7, 8], [9], [], [10, 11, 12, 13, 14], [15, 16]]
OTHERS = [[7, 8], [9, 9, 10], [11], [], [17, 18, 19]]
QUESTIONS = [["a"], ["b", "##x"], [], ["c", "d"], ["e"]]
CONTEXTS = [["the", "cat"], ["sat"], ["f", "g", "h"], ["i", "##y"], ["j", "a", "b", "c"]]
SPANS = [(0, 1), (0, 0), (2, 2), (1, 1), (1, 3)]
KINDS = {"bert-classifier": "classifier", "bert-matcher": "matcher", "bert-tagger": "tagger",
         "bert-reader": "reader"}  # fmt: skip


def pipeline() -> TextPipeline:
    """Of the pieces of `bert_cases`."""
    return pipeline_from_pieces(PIECES, CONFIG)


@dataclass(frozen=True, kw_only=True)
class HeadCase:
    """One config of one head."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Shown by pytest."""
        return "-".join([self.name, *map(str, self.settings.values())])

    @property
    def kind(self) -> str:
        return KINDS[self.name]

    @property
    def task(self) -> Any:
        rules = ReadingRules(no_answer=self.settings.get("no_answer", "never"), max_question=4)
        return {
            "classifier": TextClassification(labels=("a", "b", "c")),
            "matcher": PairClassification(labels=("a", "b", "c")),
            "tagger": Tagging(tags=TagSet.found([["O", "B-X", "I-X"]], given="iob2")),
            "reader": SpanReading(rules=rules),
        }[self.kind]

    def build(self, *, dropout: float = 0.0, seed: int = 1, std: float = 0.3) -> nn.Module:
        """The model with the random weights of a seed, wild ones, in training mode."""
        torch.manual_seed(seed)
        config, model = BERT_HEADS[self.name]
        encoder = replace(
            SMALL,
            heads="none",
            pooler=self.kind in ("classifier", "matcher"),
            dropout=dropout,
            attention_dropout=dropout,
        )
        made = model(
            config(
                encoder=encoder, output_size=self.task.output_size, dropout=dropout, **self.settings
            )
        )
        for parameter in made.parameters():
            nn.init.normal_(parameter, std=std)
        return made

    def batch(self, rows: list[int] | None = None, *, extra_pad: int = 0) -> Any:
        """Some of the five examples, as long as the longest, and `extra_pad` more."""
        chosen = torch.tensor(list(range(5)) if rows is None else rows)
        data = self.data()
        length = int(data.lengths()[chosen].max()) + extra_pad
        return data.batch(chosen, length)

    def data(self) -> Any:
        """All examples."""
        label = torch.arange(5) % 3
        first, second = ([[CLS, *ids, SEP] for ids in side] for side in (TEXTS, OTHERS))
        if self.kind == "classifier":
            return replace(encode_ids(first, vocab_size=len(PIECES)), label=label)
        if self.kind == "matcher":
            return PiecePairs(Sentences.pack(first), Sentences.pack(second), label)
        if self.kind == "reader":
            windows = [ContextWindow(*each) for each in zip(QUESTIONS, CONTEXTS, strict=True)]
            spans = [(-1, -1), *SPANS[1:]] if self.settings.get("no_answer") == "learnt" else SPANS
            return encode_piece_windows(windows, pipeline(), labels=spans)
        # Words of two pieces, but for the last.
        places = [list(range(1, len(ids) + 1, 2)) for ids in TEXTS]
        size = self.task.output_size
        tags = [[(row + word) % size for word in range(len(each))]
                for row, each in enumerate(places)]  # fmt: skip
        return WordPieces(Sentences.pack(first), Sentences.pack(places), Sentences.pack(tags))

    def answers(self, output: Any, batch: Any) -> list[torch.Tensor]:
        """What was answered to each row, without padding."""
        if self.kind in ("classifier", "matcher"):
            return list(output.logits)
        if self.kind == "tagger":
            return [row[mask] for row, mask in zip(output.logits, batch.word_mask, strict=True)]
        both = torch.stack([output.start, output.end], dim=-1)
        found = [row[mask] for row, mask in zip(both, output.mask, strict=True)]
        if output.none is None:
            return found
        return [torch.cat([none[None], row]) for none, row in zip(output.none, found, strict=True)]

    def write(self, folder: Path, model: nn.Module | None = None, **changes: Any) -> Bundle:
        """As a bundle; `changes` are lies in its config."""
        made = model or self.build()
        cut = {"matcher": 8, "reader": 9}.get(self.kind, 16)
        config = replace(CONFIG, max_tokens=cut)
        write_bundle(
            folder,
            config=BundleConfig(
                kind=self.kind,
                model={"name": self.name, "config": {**config_of(made), **changes}},
                task=self.task.to_dict(),
                text=config.to_dict(),
                library_version=__version__,
            ),
            tokenizer_json=pipeline().tokenizer.to_str(),
            weights={name: value.numpy() for name, value in made.state_dict().items()},
            metrics={"n": 0},
            card="# a case\n",
        )
        return read_bundle(folder)


CASES = [
    HeadCase(name="bert-classifier"),
    HeadCase(name="bert-matcher"),
    HeadCase(name="bert-tagger", settings={"decoder": "softmax"}),
    HeadCase(name="bert-tagger", settings={"decoder": "crf"}),
    HeadCase(name="bert-reader", settings={"no_answer": "never"}),
    HeadCase(name="bert-reader", settings={"no_answer": "learnt"}),
]
