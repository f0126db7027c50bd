"""The tokenizer of a Hugging Face BERT, with identical results. Needs no torch."""

from os import PathLike
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer, normalizers

from softquery.bundle.config import LARGEST_TOKENIZER
from softquery.errors import ConfigError, InputError
from softquery.files import open_text
from softquery.interop.bert_config import read_json
from softquery.plain_files import read_plain
from softquery.text import (
    BERT_CLS,
    BERT_MASK,
    BERT_PAD,
    BERT_RESERVED,
    BERT_SEP,
    BERT_UNK,
    TextConfig,
    TextPipeline,
    bert_vocabulary,
    pipeline_from_pieces,
)
from softquery.text.word_pieces import with_bert_marks

TOKENIZER, VOCABULARY, SETTINGS = "tokenizer.json", "vocab.txt", "tokenizer_config.json"
SHORTEST: Final = 3
"""Tokens of the shortest text that can be asked for: one, and two marks."""
MARKS: Final = {
    "pad_token": BERT_PAD,
    "unk_token": BERT_UNK,
    "cls_token": BERT_CLS,
    "sep_token": BERT_SEP,
    "mask_token": BERT_MASK,
}


def read_bert_tokenizer(
    folder: str | PathLike[str], max_tokens: int, *, lowercase: bool = True
) -> TextPipeline:
    """The pipeline of a folder, from `tokenizer.json`, otherwise from `vocab.txt`.

    Args:
        folder: A folder of `save_pretrained`.
        max_tokens: The number of positions of the model.
        lowercase: Whether text is lower-cased where there is no file that says so.
    """
    place = Path(folder)
    if (place / TOKENIZER).exists():
        return _from_tokenizer(place / TOKENIZER, max_tokens)
    if (place / VOCABULARY).exists():
        return _from_vocabulary(place, max_tokens, lowercase)
    raise InputError(f"holds neither {TOKENIZER} nor {VOCABULARY}", source=folder)


def published_tokenizer(pipeline: TextPipeline) -> dict[str, Any]:
    """The files of a Hugging Face tokenizer by name: JSON objects, and lists of lines."""
    config = pipeline.config
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": config.lowercase,
        "strip_accents": config.strip_accents,
        "tokenize_chinese_chars": getattr(
            pipeline.tokenizer.normalizer, "handle_chinese_chars", True
        ),
        "model_max_length": config.max_tokens,
        **MARKS,
    }
    return {
        VOCABULARY: bert_vocabulary(pipeline.tokenizer),
        SETTINGS: settings,
        "special_tokens_map.json": MARKS,
    }


def read_word_pieces(path: Path) -> Tokenizer:
    """The WordPiece of a `tokenizer.json`, which must have BERT's reserved tokens."""
    try:
        tokenizer = Tokenizer.from_str(read_plain(path, LARGEST_TOKENIZER).decode("utf-8"))
    except Exception as error:  # the library raises nothing narrower
        reason = " ".join(str(error).split())
        raise InputError(f"damaged or not a tokenizer ({reason})", source=path) from None
    kind = type(tokenizer.model).__name__
    if kind != "WordPiece":
        raise InputError(f"expected a BERT's WordPiece, found {kind}", source=path)
    if missing := [mark for mark in BERT_RESERVED if tokenizer.token_to_id(mark) is None]:
        raise InputError(f"the vocabulary lacks {', '.join(missing)}", source=path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _from_tokenizer(path: Path, max_tokens: int) -> TextPipeline:
    tokenizer = read_word_pieces(path)
    config = text_config(tokenizer.normalizer, max_tokens)
    return TextPipeline(with_bert_marks(tokenizer, config), config)


def _from_vocabulary(folder: Path, max_tokens: int, lowercase: bool) -> TextPipeline:
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).exists() else {}
    normaliser = normalizers.BertNormalizer(
        lowercase=bool(settings.get("do_lower_case", lowercase)),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
    )
    with open_text(folder / VOCABULARY) as lines:
        pieces = list(lines)
    try:
        pipeline = pipeline_from_pieces(pieces, text_config(normaliser, max_tokens))
    except ConfigError as error:
        raise InputError(str(error), source=folder / VOCABULARY) from None
    pipeline.tokenizer.normalizer = normaliser
    return pipeline


def text_config(normaliser: object, max_tokens: int) -> TextConfig:
    """The settings of a tokenizer as far as ours can express them; the file holds all."""
    if max_tokens < SHORTEST:
        raise InputError(
            f"the model has positions for {max_tokens} tokens of a text, expected at least "
            f"{SHORTEST}: one, and two marks"
        )
    lowercase = bool(getattr(normaliser, "lowercase", False))
    strip = getattr(normaliser, "strip_accents", None)
    return TextConfig(
        unit="bert",
        lowercase=lowercase,
        strip_accents=lowercase if strip is None else bool(strip),
        boundaries=True,
        max_tokens=max_tokens,
    )
