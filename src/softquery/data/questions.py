"""Questions about contexts: windows of words to batches; a shared context is stored once.

N windows in all, B of a batch, T and J padded lengths of contexts and questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from softquery.answers import ContextWindow, ContextWindows
from softquery.data.buckets import round_up
from softquery.data.tokens import Sentences, Tokens, build_lexicon
from softquery.nn import Lexicon
from softquery.text import TextPipeline, reserved_tokens

NO_ANSWER = -1
"""In place of a word: the window holds no answer."""
QUESTION_MULTIPLE = 8
"""The length of questions is rounded up to a multiple of it."""


class QuestionBatch(NamedTuple):
    """B windows whose ids are rows of a lexicon, and the first and last word of each answer."""

    question: Tokens
    context: Tokens
    lexicon: Lexicon
    label: Int[Tensor, "B 2"] | None

    @property
    def size(self) -> int:
        """Number of windows."""
        return len(self.context.ids)


@dataclass(frozen=True, slots=True)
class Questions:
    """A whole set of windows and their questions, ready to be cut into batches."""

    question: Sentences
    context: Sentences
    lexicon: Lexicon
    label: Int[Tensor, "N 2"] | None = None
    windowed: ContextWindows | None = None
    """Where the windows come from."""

    def __len__(self) -> int:
        return len(self.context)

    def lengths(self) -> Int[Tensor, " N"]:
        """Words of each window."""
        return self.context.lengths

    def question_length(self) -> int:
        """The length of questions in every batch: shapes then depend on the contexts alone."""
        longest = int(self.question.lengths.max()) if len(self.question) else 1
        return round_up(longest, QUESTION_MULTIPLE)

    def to(self, device: torch.device | str) -> "Questions":
        """The same windows on another device."""
        return replace(
            self,
            question=self.question.to(device),
            context=self.context.to(device),
            lexicon=self.lexicon.to(device),
            label=None if self.label is None else self.label.to(device),
        )

    def batch(self, rows: Int[Tensor, " B"], length: int, *, question_length: int) -> QuestionBatch:
        """The chosen windows, contexts padded to `length`."""
        return QuestionBatch(
            self.question.pad(rows, question_length),
            self.context.pad(rows, length),
            self.lexicon,
            None if self.label is None else self.label[rows],
        )


def encode_windows(
    windows: Sequence[ContextWindow],
    pipeline: TextPipeline,
    *,
    max_characters: int,
    labels: Sequence[tuple[int, int]] | None = None,
) -> Questions:
    """Context windows as rows of a lexicon of their own words.

    Args:
        windows: As `softquery.answers.make_windows` makes them; a list of words that several of
            them share is stored once.
        pipeline: Knows which words the model's table has.
        max_characters: Characters per word, the two marks at its ends included.
        labels: The first and last word of the answer in each window, `NO_ANSWER` twice for none.

    >>> from softquery.text import TextConfig, pipeline_from_words
    >>> made = encode_windows([ContextWindow(["who"], ["Ada", "slept"])],
    ...                     pipeline_from_words(["who"], TextConfig()), max_characters=5)
    >>> made.batch(torch.tensor([0]), 3, question_length=1).context.ids.tolist()
    [[5, 6, 0]]
    """
    types: dict[str, int] = {}
    first = len(reserved_tokens("words"))

    def ids_of(words: Sequence[str]) -> list[int]:
        return [types.setdefault(word, first + len(types)) for word in words]

    questions = shared_sentences([window.question for window in windows], ids_of)
    contexts = shared_sentences([window.words for window in windows], ids_of)
    lexicon = build_lexicon(types, pipeline, max_characters=max_characters)
    label = None
    if labels is not None:
        label = torch.tensor(labels, dtype=torch.int64).reshape(-1, 2)
    return Questions(questions, contexts, lexicon, label)


def shared_sentences(
    lists: Sequence[Sequence[str]], encode: Callable[[Sequence[str]], list[int]]
) -> Sentences:
    """Sentences as ids; those that are the same list object are stored once.

    >>> words = ["a", "b"]
    >>> made = shared_sentences([words, ["c"], words], lambda some: [ord(each) for each in some])
    >>> made.starts.tolist(), made.lengths.tolist(), len(made.ids)
    ([0, 2, 0], [2, 1, 2], 4)
    """
    places: dict[int, int] = {}
    distinct: list[Sequence[str]] = []
    for words in lists:
        if id(words) not in places:
            places[id(words)] = len(distinct)
            distinct.append(words)
    packed = Sentences.pack([encode(words) for words in distinct])
    rows = torch.tensor([places[id(words)] for words in lists], dtype=torch.int64)
    return Sentences(packed.ids, packed.starts[rows], packed.lengths[rows])
