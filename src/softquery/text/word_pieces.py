"""WordPiece as in BERT: its vocabulary, its reserved tokens, and words as rows of pieces.

Text is cut as for the published models, so that their vocabularies give the same ids. Unlike in
other units, a reserved token that is written in a text, such as `[MASK]`, becomes that token.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from softquery.errors import ConfigError
from softquery.text.pipeline import TextPipeline
from softquery.text.segmentation import WORD_START, build_normaliser
from softquery.text.text_config import BERT_CLS, BERT_RESERVED, BERT_SEP, BERT_UNK, TextConfig

CONTINUATION: Final = "##"
"""The prefix of every piece that does not begin a word."""
LONGEST_WORD: Final = 100
"""The most characters of a word; longer ones are unknown."""
COVERAGE: Final = 0.9999
"""The share of the text's characters in the alphabet; words with rarer ones are unknown."""
RARE_CHARACTERS: Final = 20_000
"""Entries that the trainer may spend on characters that are removed afterwards."""


def bert_model(pieces: Sequence[str]) -> models.Model:
    """A WordPiece model from pieces in the order of their ids.

    A piece that occurs twice has the later id, as in `transformers`.
    """
    last = {piece: number for number, piece in enumerate(pieces)}
    ids = {
        piece if last[piece] == number else _unused(number): number
        for number, piece in enumerate(pieces)
    }
    if missing := [token for token in BERT_RESERVED if token not in ids]:
        raise ConfigError(f"the vocabulary lacks {', '.join(missing)}")
    return models.WordPiece(
        ids,
        unk_token=BERT_UNK,
        continuing_subword_prefix=CONTINUATION,
        max_input_chars_per_word=LONGEST_WORD,
    )


def with_bert_marks(tokenizer: Tokenizer, config: TextConfig) -> Tokenizer:
    """Recognise reserved tokens in texts, and add `[CLS]` and `[SEP]` where asked."""
    tokenizer.add_special_tokens(list(BERT_RESERVED))
    tokenizer.post_processor = None
    if config.boundaries:
        marks = [(token, tokenizer.token_to_id(token)) for token in (BERT_CLS, BERT_SEP)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{BERT_CLS} $A {BERT_SEP}",
            pair=f"{BERT_CLS} $A {BERT_SEP} $B:1 {BERT_SEP}:1",
            special_tokens=marks,
        )
    return tokenizer


def bert_vocabulary(tokenizer: Tokenizer) -> list[str]:
    """The lines of `vocab.txt`: every entry at the line of its id; unused ids get a placeholder."""
    entries = {number: entry for entry, number in tokenizer.get_vocab().items()}
    return [entries.get(number, _unused(number)) for number in range(max(entries) + 1)]


def learn_bert_pieces(
    texts: Iterable[str], config: TextConfig, vocab_size: int, min_count: int
) -> list[str]:
    """Learn a vocabulary from streamed text: reserved tokens, characters, and BPE's merges.

    Differs from paper: WordPiece proper (Wu et al. 2016, Section 4.1) chooses by likelihood, and
    its learner was never published.

    Args:
        texts: Texts after `prepared_texts`.
        config: How they are normalised.
        vocab_size: The most entries.
        min_count: Rarer pairs are not merged.
    """
    counts: Counter[str] = Counter()
    learner = Tokenizer(models.BPE())
    learner.normalizer = build_normaliser(config)
    mark = pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="always", split=False)
    learner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), mark])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size + RARE_CHARACTERS, min_frequency=min_count, show_progress=False
    )
    learner.train_from_iterator(_counted(texts, counts), trainer)
    letters = _alphabet(counts, learner.normalizer, vocab_size - len(BERT_RESERVED))
    known, ids = {*letters, WORD_START}, learner.get_vocab()
    merged = (token for token in sorted(ids, key=ids.__getitem__) if len(token) > 1)
    pieces = [piece_of(token) for token in merged if known.issuperset(token)]
    ordered = (*BERT_RESERVED, *letters, *_continued(letters), *pieces)
    return list(dict.fromkeys(ordered))[:vocab_size]


def piece_of(token: str) -> str:
    """A piece in the notation of WordPiece, from one where a mark begins a word.

    >>> piece_of(WORD_START + "walk"), piece_of("ing")
    ('walk', '##ing')
    """
    return token[1:] if token.startswith(WORD_START) else CONTINUATION + token


def _unused(number: int) -> str:
    """A placeholder that no text can contain as a token."""
    return f"[unused {number}]"


def _counted(texts: Iterable[str], counts: Counter[str]) -> Iterator[str]:
    for text in texts:
        counts.update(text)
        yield text


def _alphabet(counts: Counter[str], normaliser: normalizers.Normalizer, room: int) -> list[str]:
    """The most frequent characters after normalisation, in the order of their code points."""
    normal: Counter[str] = Counter()
    for character, count in counts.items():
        for letter in "".join(normaliser.normalize_str(character).split()):
            normal[letter] += count
    normal.pop(WORD_START, None)
    allowed = COVERAGE * normal.total()
    letters: list[str] = []
    for letter, count in sorted(normal.items(), key=lambda each: (-each[1], each[0])):
        if allowed <= 0 or 2 * len(letters) + 2 > room:
            break
        letters.append(letter)
        allowed -= count
    return sorted(letters)


def _continued(letters: Sequence[str]) -> list[str]:
    """Continuing pieces of characters that occur inside words, unlike signs and ideographs."""
    cut = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    spaced = normalizers.BertNormalizer(lowercase=False, strip_accents=False).normalize_str
    return [CONTINUATION + letter for letter in letters if len(cut(spaced(f"a{letter}a"))) == 1]


class PieceRow(NamedTuple):
    """A sentence, or a part of one, as ids between `[CLS]` and `[SEP]`."""

    ids: list[int]
    places: list[int]
    """The index of the first piece of each word."""


class PieceEncoder:
    """Encodes words as pieces, each distinct word once. Safe to use from many threads.

    A word without any piece, such as an invisible character, becomes the unknown token.

    Args:
        pipeline: Holds the vocabulary; its `max_tokens` counts pieces and the two marks.
    """

    def __init__(self, pipeline: TextPipeline) -> None:
        self.pipeline = pipeline
        found = [pipeline.token_id(mark) for mark in (BERT_CLS, BERT_SEP)]
        self.first, self.last = (0 if each is None else each for each in found)
        self.limit = pipeline.config.max_tokens - 2

    def marked(self, names: Sequence[str]) -> list[int]:
        """The ids of pieces given by name, between the two marks."""
        unknown = self.pipeline.unk_id
        found = (self.pipeline.token_id(name) for name in names)
        return [self.first, *(unknown if each is None else each for each in found), self.last]

    def pieces(self, words: Iterable[str]) -> dict[str, list[int]]:
        """The piece ids of each distinct word, at most as many as a row can hold."""
        distinct = list(dict.fromkeys(words))
        unknown = [self.pipeline.unk_id]
        cut = self.pipeline.encode_whole(distinct)
        return {word: ids[: self.limit] or unknown for word, ids in zip(distinct, cut, strict=True)}

    def rows(self, sentences: Sequence[Sequence[str]]) -> list[list[PieceRow]]:
        """Each sentence as one row, or as several where it is too long for one.

        Words are never split between rows; a sentence without words is one row of two marks.

        >>> from softquery.text import TextConfig, pipeline_from_pieces
        >>> from softquery.text.text_config import BERT_RESERVED
        >>> pieces = [*BERT_RESERVED, "a", "##b", "c"]
        >>> config = TextConfig(unit="bert", boundaries=True, max_tokens=5)
        >>> encoder = PieceEncoder(pipeline_from_pieces(pieces, config))
        >>> encoder.rows([["ab", "c"]])
        [[PieceRow(ids=[2, 5, 6, 7, 3], places=[1, 3])]]
        >>> [row.places for row in encoder.rows([["ab", "ab", "c"]])[0]]
        [[1], [1, 3]]
        """
        known = self.pieces(word for words in sentences for word in words)
        return [self._rows([known[word] for word in words]) for words in sentences]

    def _rows(self, words: Sequence[Sequence[int]]) -> list[PieceRow]:
        rows = [PieceRow([self.first], [])]
        for pieces in words:
            if len(rows[-1].ids) - 1 + len(pieces) > self.limit:
                rows.append(PieceRow([self.first], []))
            rows[-1].places.append(len(rows[-1].ids))
            rows[-1].ids.extend(pieces)
        for row in rows:
            row.ids.append(self.last)
        return rows
