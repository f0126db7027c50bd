"""Vocabularies from text: counted for words, learnt for sub-words.

The same text and settings give the same file, byte for byte, in every process.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from softquery.errors import ConfigError
from softquery.text.pipeline import TextPipeline, prepared_texts
from softquery.text.segmentation import (
    CJK,
    WORD_START,
    WordSegmenter,
    build_normaliser,
    build_segmenter,
)
from softquery.text.text_config import (
    BOS,
    BOS_ID,
    EOS,
    EOS_ID,
    SUBWORDS,
    UNK,
    TextConfig,
    reserved_tokens,
)
from softquery.text.word_pieces import (
    CONTINUATION,
    bert_model,
    learn_bert_pieces,
    piece_of,
    with_bert_marks,
)

DEFAULT_SUBWORDS: Final = 16_000
"""Size of a sub-word vocabulary when none is asked for."""
NO_LIMIT: Final = 2**31

# Spaces that English and Chinese do not write: before closing signs and contractions, after
# opening signs, between ideographs.
_UNWRITTEN_SPACE = (
    r" (?=[.,!?;:%)\]}]|n't\b|'(?:s|m|d|re|ve|ll)\b)|(?<=[(\[{$]) "
    rf"|(?<=[{CJK}]) (?=[{CJK}，。！？；：、])|(?<=[，。！？；：、]) (?=[{CJK}])"
)


def build_pipeline(
    texts: Iterable[str],
    config: TextConfig,
    *,
    vocab_size: int | None = None,
    min_count: int = 1,
) -> TextPipeline:
    """Learn a vocabulary from texts, which are streamed once.

    Words, characters and jieba's words are ordered by count, ties alphabetically. BPE follows
    Sennrich et al. (2016), Section 3.2; WordPiece takes its pieces from the same merges and cuts
    greedily, longest piece first, as BERT does; `bert` cuts exactly as BERT, see `word_pieces`.

    Args:
        texts: Sentences, in any number.
        config: The settings of the pipeline.
        vocab_size: The most entries, reserved ones included. By default words have no limit and
            sub-words have `DEFAULT_SUBWORDS`.
        min_count: Rarer words are omitted; for sub-words, rarer pairs are not merged.

    >>> pipeline = build_pipeline(["b a", "b c"], TextConfig(), min_count=1)
    >>> pipeline.vocabulary()[4:]
    ['b', 'a', 'c']
    """
    reserved = reserved_tokens(config.unit)
    if vocab_size is not None and vocab_size <= len(reserved):
        raise ValueError(f"vocab_size must be over {len(reserved)} (reserved), got {vocab_size}")
    if min_count < 1:
        raise ValueError(f"min_count must be at least 1, got {min_count}")
    prepared = prepared_texts(texts, config)
    if config.unit == "bpe":
        model = _learn_merges(prepared, config, vocab_size or DEFAULT_SUBWORDS, min_count)
    elif config.unit == "bert":
        model = bert_model(
            learn_bert_pieces(prepared, config, vocab_size or DEFAULT_SUBWORDS, min_count)
        )
    elif config.unit == "wordpiece":
        model = _learn_pieces(prepared, config, vocab_size or DEFAULT_SUBWORDS, min_count)
    else:
        model = _count_words(prepared, config, vocab_size or NO_LIMIT, min_count)
    return _assembled(model, config)


def pipeline_from_words(words: Iterable[str], config: TextConfig) -> TextPipeline:
    """A pipeline with a given vocabulary, such as that of pretrained vectors, in the given order.

    Entries that differ from their normalised form under `config` are never found.

    >>> pipeline_from_words(["the", "cat"], TextConfig()).encode_ids(["The cat"])
    [[4, 5]]
    """
    if config.unit in SUBWORDS:
        raise ValueError(f"a list of words cannot make a vocabulary for unit {config.unit!r}")
    ordered = dict.fromkeys((*reserved_tokens(config.unit), *words))
    ids = {word: number for number, word in enumerate(ordered)}
    return _assembled(models.WordLevel(ids, unk_token=UNK), config)


def pipeline_from_pieces(pieces: Sequence[str], config: TextConfig) -> TextPipeline:
    """A pipeline with BERT's vocabulary, such as the lines of a `vocab.txt`.

    Raises:
        ConfigError: One of the five reserved tokens is missing.

    >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "##s"]
    >>> pipeline = pipeline_from_pieces(pieces, TextConfig(unit="bert", boundaries=True))
    >>> pipeline.encode(["Cats"])[0].tokens
    ['[CLS]', 'cat', '##s', '[SEP]']
    """
    if config.unit != "bert":
        raise ValueError(f"pieces make a vocabulary for unit 'bert', not for {config.unit!r}")
    return _assembled(bert_model(pieces), config)


def _assembled(model: models.Model, config: TextConfig) -> TextPipeline:
    """Build a pipeline around a vocabulary.

    The reserved tokens are mere entries of the vocabulary, so that a text that contains the letters
    `<pad>` is tokenised like any other.
    """
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = build_normaliser(config)
    segmenter = build_segmenter(config)
    if segmenter is not None:
        tokenizer.pre_tokenizer = segmenter
    tokenizer.decoder = _decoder(config)
    if config.unit == "bert":
        return TextPipeline(with_bert_marks(tokenizer, config), config)
    if config.boundaries:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{BOS} $A {EOS}", special_tokens=[(BOS, BOS_ID), (EOS, EOS_ID)]
        )
    return TextPipeline(tokenizer, config)


def _decoder(config: TextConfig) -> decoders.Decoder:
    if config.unit == "bert":
        return decoders.WordPiece(prefix=CONTINUATION)
    if config.unit == "bpe":
        return decoders.Metaspace(replacement=WORD_START, prepend_scheme="always")
    if (
        config.unit == "whitespace"
    ):  # no token begins with a space, so that all are joined by spaces
        return decoders.WordPiece(prefix=" ", cleanup=False)
    return decoders.Sequence(
        [
            decoders.WordPiece(prefix=CONTINUATION, cleanup=False),
            decoders.Fuse(),
            decoders.Replace(Regex(_UNWRITTEN_SPACE), ""),
        ]
    )


def _count_words(
    texts: Iterable[str], config: TextConfig, vocab_size: int, min_count: int
) -> models.Model:
    counter = Tokenizer(models.WordLevel(unk_token=UNK))
    if config.unit == "jieba":
        counter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        texts = _spaced_words(texts, WordSegmenter(build_normaliser(config)))
    else:
        counter.normalizer = build_normaliser(config)
        counter.pre_tokenizer = build_segmenter(config)
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size,
        min_frequency=min_count,
        special_tokens=list(reserved_tokens(config.unit)),
        show_progress=False,
    )
    counter.train_from_iterator(texts, trainer)
    model: models.Model = counter.model
    return model


def _spaced_words(texts: Iterable[str], segmenter: WordSegmenter) -> Iterator[str]:
    for text in texts:
        yield " ".join(segmenter.words(text))


def _learn_merges(
    texts: Iterable[str], config: TextConfig, vocab_size: int, min_count: int
) -> models.Model:
    learner = Tokenizer(models.BPE(unk_token=UNK))
    learner.normalizer = build_normaliser(config)
    learner.pre_tokenizer = build_segmenter(config)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_count,
        special_tokens=list(reserved_tokens(config.unit)),
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    needed = learner.get_vocab_size()
    _require_room(needed, vocab_size)
    model: models.Model = learner.model
    return model


def _learn_pieces(
    texts: Iterable[str], config: TextConfig, vocab_size: int, min_count: int
) -> models.Model:
    """Learn WordPiece's vocabulary from BPE's merges over words with a mark at their beginning.

    The library's WordPiece trainer orders continuing characters by a hash table, which differs
    from run to run; its BPE trainer is deterministic.
    """
    learner = Tokenizer(models.BPE(unk_token=UNK))
    learner.normalizer = build_normaliser(config)
    mark = pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="always", split=False)
    segmenter = build_segmenter(config)
    learner.pre_tokenizer = pre_tokenizers.Sequence([segmenter, mark])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=min_count, show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    ids = learner.get_vocab()
    tokens = sorted(ids, key=ids.__getitem__)
    letters = [token for token in tokens if len(token) == 1 and token != WORD_START]
    pieces = [*letters, *(CONTINUATION + letter for letter in letters)]
    needed = len(reserved_tokens(config.unit)) + len(pieces)
    _require_room(needed, vocab_size)
    pieces += [piece_of(token) for token in tokens if len(token) > 1]
    ordered = list(dict.fromkeys((*reserved_tokens(config.unit), *pieces)))[:vocab_size]
    vocabulary = {token: number for number, token in enumerate(ordered)}
    return models.WordPiece(vocabulary, unk_token=UNK, continuing_subword_prefix=CONTINUATION)


def _require_room(needed: int, vocab_size: int) -> None:
    if needed > vocab_size:
        raise ConfigError(
            f"vocab_size {vocab_size} cannot hold every character of the text; it needs {needed}"
        )
