"""From strings to token ids and offsets, and back; the same object in training and at run time."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

from tokenizers import Encoding, Tokenizer

from softquery.errors import InputError
from softquery.text.segmentation import WordSegmenter, normalise, repaired, simplified
from softquery.text.spans import Span, joined_spans, tidy_spans
from softquery.text.storage import FILE_NAME, read_tokenizer, write_tokenizer
from softquery.text.text_config import SUBWORDS, TextConfig, reserved_tokens

VARIABLE: Final = "TOKENIZERS_PARALLELISM"


@lru_cache(maxsize=1)
def keep_quiet_on_fork() -> None:
    """Keep `tokenizers` from warning in forked children; a choice of the user is left alone.

    Once the library has used its thread pool, a forked child cannot use it and says so on stderr,
    unless parallelism was switched off before the fork. The hooks, installed once per process,
    switch it off for the duration of the fork and restore the parent.
    """
    if not hasattr(os, "register_at_fork"):  # Windows does not fork
        return
    ours: list[bool] = []  # one entry per fork under way

    def before() -> None:
        ours.append(VARIABLE not in os.environ)
        if ours[-1]:
            os.environ[VARIABLE] = "false"

    def in_parent() -> None:
        if ours.pop():
            os.environ.pop(VARIABLE, None)

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=ours.clear)


Value = TypeVar("Value")

keep_quiet_on_fork()


@dataclass(frozen=True, slots=True)
class Encoded:
    """One sentence as a model sees it; the three lists are equally long.

    Attributes:
        ids: Positions in the vocabulary.
        tokens: The entries of the vocabulary, `<unk>` for unknown tokens.
        offsets: Start and end of each token in the string as given.
        num_cut: How many tokens were cut.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[Span]
    num_cut: int


class TextPipeline:
    """Normalises text and turns it into token ids; safe to use from many threads.

    Args:
        tokenizer: Holds normalisation, segmentation and vocabulary.
        config: The settings that `tokenizer` was built for, and the steps that it cannot do.
    """

    def __init__(self, tokenizer: Tokenizer, config: TextConfig) -> None:
        self.tokenizer = tokenizer
        self.config = config
        self._words = WordSegmenter(tokenizer.normalizer) if config.unit == "jieba" else None
        reserved = [self.token_id(token) for token in reserved_tokens(config.unit)]
        self._pad_id, self._unk_id = reserved[:2]
        self._reserved = frozenset(reserved)
        # Truncation is done here, because the library does not say how much it cuts.
        tokenizer.no_truncation()
        tokenizer.no_padding()

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        size: int = self.tokenizer.get_vocab_size()
        return size

    @property
    def pad_id(self) -> int:
        """The id of padding: 0, except in vocabularies from elsewhere."""
        return self._pad_id or 0

    @property
    def unk_id(self) -> int:
        """The id of unknown tokens: 1, except in BERT's vocabularies."""
        return self._unk_id or 0

    def token_id(self, token: str) -> int | None:
        """The id of a vocabulary entry, or None where there is none."""
        found: int | None = self.tokenizer.token_to_id(token)
        return found

    def vocabulary(self) -> list[str]:
        """All entries in the order of their ids."""
        ids = self.tokenizer.get_vocab()
        return sorted(ids, key=ids.__getitem__)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode sentences to ids, tokens and offsets.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> pipeline = build_pipeline(["Don't panic."], TextConfig())
        >>> pipeline.encode(["Please don’t panic!"])[0].tokens
        ['<unk>', 'do', "n't", 'panic', '<unk>']
        >>> pipeline.encode(["Please don’t panic!"])[0].offsets
        [(0, 6), (7, 9), (9, 12), (13, 18), (18, 19)]
        """
        prepared = self._prepared(texts)
        if self._words is None:
            encodings = self.tokenizer.encode_batch(prepared)
            spans = [encoding.offsets for encoding in encodings]
        else:
            words = [self._words.spans(text) for text in prepared]
            encodings = self._encode_words([[word for word, _ in sentence] for sentence in words])
            spans = [
                [(0, 0) if index is None else sentence[index][1] for index in encoding.word_ids]
                for sentence, encoding in zip(words, encodings, strict=True)
            ]
        triples = zip(prepared, encodings, spans, strict=True)
        return [self._encoded(text, encoding, offsets) for text, encoding, offsets in triples]

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode sentences to ids alone, which is faster.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> build_pipeline(["b a b"], TextConfig(boundaries=True)).encode_ids(["a b", ""])
        [[2, 5, 4, 3], [2, 3]]
        """
        limit = self.config.max_tokens
        ids = self._uncut_ids(texts)
        return [each if len(each) <= limit else self._cut(each) for each in ids]

    def encode_ids_with_cuts(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """Like `encode_ids`, and how many tokens of each sentence were cut."""
        ids = self._uncut_ids(texts)
        cuts = [self._num_cut(sentence) for sentence in ids]
        return [
            self._cut(sentence) if cut else sentence
            for sentence, cut in zip(ids, cuts, strict=True)
        ], cuts

    def _uncut_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """All ids of each text, boundaries included."""
        prepared = self._prepared(texts)
        if self._words is None:
            encodings = self.tokenizer.encode_batch_fast(prepared)
        else:
            encodings = self._encode_words([self._words.words(text) for text in prepared])
        return [encoding.ids for encoding in encodings]

    def encode_whole(self, texts: Sequence[str]) -> list[list[int]]:
        """All ids of each text, without truncation and boundaries.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> build_pipeline(["a b"], TextConfig(max_tokens=1)).encode_whole(["a b a"])
        [[4, 5, 4]]
        """
        prepared = self._prepared(texts)
        if self._words is None:
            encodings = self.tokenizer.encode_batch_fast(prepared, add_special_tokens=False)
        else:
            words = [self._words.words(text) for text in prepared]
            encodings = self.tokenizer.encode_batch(
                words, is_pretokenized=True, add_special_tokens=False
            )
        return [encoding.ids for encoding in encodings]

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """The normalised words of each sentence, known to the vocabulary or not.

        This is the input of character models. Boundaries are not added, but `max_tokens` counts
        them.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> build_pipeline(["a"], TextConfig(lowercase=False)).words(["Don't panic!"])
        [['Do', "n't", 'panic', '!']]
        """
        self._refuse_pieces()
        limit = self.config.max_tokens - 2 * self.config.boundaries
        return [self._cut_words(text)[:limit] for text in self._prepared(texts)]

    def written_words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text as written in it, without truncation.

        They keep their case, for character models; `look_up` normalises them.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> build_pipeline(["a"], TextConfig()).written_words(["Don’t panic!"])
        [['Do', 'n’t', 'panic', '!']]
        """
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(texts, self.word_spans(texts), strict=True)
        ]

    def written_words_with_cuts(self, texts: Sequence[str]) -> tuple[list[list[str]], list[int]]:
        """Like `written_words` with truncation, and how many words of each sentence were cut."""
        self._refuse_pieces()
        limit = self.config.max_tokens - 2 * self.config.boundaries
        words = self.written_words(texts)
        return [each[:limit] for each in words], [max(0, len(each) - limit) for each in words]

    def word_spans(self, texts: Sequence[str]) -> list[list[Span]]:
        """The offsets of the words of each text, without truncation.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> build_pipeline(["a"], TextConfig()).word_spans(["Don’t panic!"])
        [[(0, 2), (2, 5), (6, 11), (11, 12)]]
        """
        prepared = self._prepared(texts)
        if self._words is not None:
            return [[span for _, span in self._words.spans(text)] for text in prepared]
        encodings = self.tokenizer.encode_batch(prepared, add_special_tokens=False)
        found = [
            tidy_spans(text, encoding.offsets)
            for text, encoding in zip(prepared, encodings, strict=True)
        ]
        if self.config.unit != "bert":
            return found
        words = [encoding.word_ids for encoding in encodings]
        return [joined_spans(*each) for each in zip(found, words, strict=True)]

    def pieces(self, texts: Sequence[str]) -> list[list[tuple[str, Span]]]:
        """All tokens of each text with their offsets, without boundaries.

        >>> from softquery.text import BERT_RESERVED, TextConfig, pipeline_from_pieces
        >>> config = TextConfig(unit="bert")
        >>> pipeline_from_pieces([*BERT_RESERVED, "a", "##b"], config).pieces(["Ab c"])
        [[('a', (0, 1)), ('##b', (1, 2)), ('[UNK]', (3, 4))]]
        """
        prepared = self._prepared(texts)
        encodings = self.tokenizer.encode_batch(prepared, add_special_tokens=False)
        return [
            list(zip(encoding.tokens, tidy_spans(text, encoding.offsets), strict=True))
            for text, encoding in zip(prepared, encodings, strict=True)
        ]

    def look_up(self, words: Sequence[str]) -> list[int]:
        """The ids of words that are given as tokens; each is normalised and looked up whole.

        >>> from softquery.text import TextConfig, pipeline_from_words
        >>> pipeline_from_words(["all-rounder"], TextConfig()).look_up(["All-rounder", "zebra"])
        [4, 1]
        """
        found = (self.token_id(normalise(word, self.config)) for word in words)
        return [
            self.unk_id if number is None or number in self._reserved else number
            for number in found
        ]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids, without reserved tokens other than `<unk>`.

        >>> from softquery.text import TextConfig, build_pipeline
        >>> pipeline = build_pipeline(["don't panic."], TextConfig(boundaries=True))
        >>> pipeline.decode(pipeline.encode_ids(["Don't panic."])[0])
        "don't panic."
        """
        hidden = self._reserved - {self.unk_id}
        kept = [number for number in map(int, ids) if number not in hidden]
        text: str = self.tokenizer.decode(kept, skip_special_tokens=False)
        return text

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `tokenizer.json` into a folder, atomically."""
        write_tokenizer(self.tokenizer, Path(folder))

    @classmethod
    def load(
        cls, folder: str | PathLike[str], config: TextConfig, *, name: str = FILE_NAME
    ) -> "TextPipeline":
        """Load what `save` wrote.

        Args:
            folder: The folder with the file.
            config: The settings that it was made for.
            name: The name of the file, where a folder holds several.

        Raises:
            BundleError: The file is missing, damaged or made for another configuration.
        """
        return cls(read_tokenizer(Path(folder) / name, config), config)

    def _refuse_pieces(self) -> None:
        if self.config.unit in SUBWORDS:
            raise ValueError(f"unit {self.config.unit!r} cuts pieces, not words")

    def _prepared(self, texts: Sequence[str]) -> list[str]:
        return list(prepared_texts(texts, self.config))

    def _cut_words(self, text: str) -> list[str]:
        if self._words is not None:
            return self._words.words(text)
        normal = self.tokenizer.normalizer.normalize_str(text)
        return [word for word, _ in self.tokenizer.pre_tokenizer.pre_tokenize_str(normal)]

    def _encode_words(self, sentences: list[list[str]]) -> list[Encoding]:
        encodings: list[Encoding] = self.tokenizer.encode_batch(sentences, is_pretokenized=True)
        return encodings

    def _encoded(self, text: str, encoding: Encoding, offsets: list[Span]) -> Encoded:
        num_cut = self._num_cut(offsets)
        ids, tokens = encoding.ids, encoding.tokens
        if num_cut:
            ids, tokens = self._cut(ids), self._cut(tokens)
        return Encoded(ids, tokens, self._spans(text, offsets), num_cut)

    def _spans(self, text: str, offsets: list[Span]) -> list[Span]:
        limit = self.config.max_tokens  # one more token says where the last one ends
        if not self.config.boundaries:
            return tidy_spans(text, offsets[: limit + 1])[:limit]
        inner = tidy_spans(text, offsets[1:-1][: limit - 1])[: limit - 2]
        return [(0, 0), *inner, (len(text), len(text))]

    def _num_cut(self, values: Sequence[object]) -> int:
        return max(0, len(values) - self.config.max_tokens)

    def _cut(self, values: list[Value]) -> list[Value]:
        limit = self.config.max_tokens
        return values[: limit - 1] + values[-1:] if self.config.boundaries else values[:limit]


def prepared_texts(texts: Iterable[str], config: TextConfig) -> Iterable[str]:
    """Texts after the steps that replace single characters; refuses what is not a string."""
    if isinstance(texts, str):
        raise TypeError("expected a list of sentences, got one string")
    prepare = simplified if config.simplify else repaired
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(f"expected a string, found {text!r:.40}", source="the texts", row=row)
        yield prepare(text)
