"""Normalisation and segmentation: what happens to a string until its tokens are known.

All but two steps of normalisation are normalisers of `tokenizers`, which track offsets, so that
these refer to the string as given. The two others replace single characters and move nothing: lone
surrogates, which UTF-8 cannot hold, become U+FFFD, and Traditional Chinese becomes Simplified where
asked.

Where one token ends and the next begins is decided by patterns, or by jieba (extra `[zh]`).
Patterns run in Oniguruma inside `tokenizers`, on normalised text. Oniguruma gives up (and
`tokenizers` then panics) after a number of retries, so every repetition is possessive (`++`, `*+`)
or bounded: no input causes more than a few dozen retries at one place.
"""

import re
import threading
import unicodedata
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate, chain
from typing import Any, Final

from tokenizers import NormalizedString, PreTokenizedString, Regex, normalizers, pre_tokenizers

from softquery.errors import ConfigError, MissingExtra
from softquery.text.spans import Span
from softquery.text.text_config import SUBWORDS, TextConfig

WORD_START: Final = "\u2581"
"""Marks where a word begins among BPE's tokens, as in SentencePiece."""

CONTROLS: Final = r"[\x{00}-\x{08}\x{0E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}]"
# Invisible: soft hyphen, zero-width and bidirectional marks, byte order mark, annotation and tags.
INVISIBLES: Final = (
    r"[\x{AD}\x{61C}\x{180E}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}"
    r"\x{FEFF}\x{FFF9}-\x{FFFB}\x{E0001}\x{E0020}-\x{E007F}]"
)
SINGLE_QUOTES: Final = r"[\x{2018}-\x{201B}\x{2BC}]"
DOUBLE_QUOTES: Final = r"[\x{201C}-\x{201F}]"
ODD_SPACE: Final = r"[^\S ]\s*+|\x{20}\s++"
"""White space that is not one plain space."""

# Han characters encoded twice: radicals that stand for themselves, compatibility ideographs.
_SECOND_ENCODINGS = (range(0x2F00, 0x2FD6), range(0xF900, 0xFAFF), range(0x2F800, 0x2FA1E))

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str, config: TextConfig) -> str:
    """The normalised form of a text.

    >>> normalise("Ｄｏｎ’ｔ　　worry…", TextConfig())
    "don't worry..."
    >>> normalise("漢語", TextConfig(simplify=True))
    '汉语'
    """
    prepared = simplified(text) if config.simplify else repaired(text)
    spelling: str = _cached_normaliser(config).normalize_str(prepared)
    return spelling


def visible_form(word: str, config: TextConfig) -> str:
    r"""A word as character models read it: normalised, but with its case and accents.

    >>> visible_form("Cafe\u0301\u200b", TextConfig())
    'Café'
    """
    kept = replace(config, lowercase=False, strip_accents=False, unicode_form="NFC")
    return normalise(word, kept)


def build_normaliser(config: TextConfig) -> normalizers.Normalizer:
    """The part of normalisation that is stored in `tokenizer.json`."""
    if config.unit == "bert":
        return normalizers.BertNormalizer(
            lowercase=config.lowercase, strip_accents=config.strip_accents
        )
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(f"{CONTROLS}|{INVISIBLES}"), ""),
        normalizers.NFKC() if config.unicode_form == "NFKC" else normalizers.NFC(),
        normalizers.Replace(Regex(SINGLE_QUOTES), "'"),
        normalizers.Replace(Regex(DOUBLE_QUOTES), '"'),
    ]
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    if config.strip_accents:
        steps += [normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]
    if config.unit in ("bpe", "wordpiece"):
        # Otherwise a mark that occurs in the text would be decoded as a space.
        steps.append(normalizers.Replace(WORD_START, "_"))
    steps += [normalizers.Replace(Regex(ODD_SPACE), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def repaired(text: str) -> str:
    r"""The text with lone surrogates replaced, so that it can be encoded as UTF-8.

    >>> repaired("a\ud83db")
    'a�b'
    """
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def simplified(text: str) -> str:
    """The text in Simplified Chinese, of the same length.

    Characters are mapped one by one, without regard to phrases (乾 always becomes 干).

    >>> simplified("電腦與網路")
    '电脑与网路'
    """
    return text if text.isascii() else repaired(text).translate(simplification_table())


@lru_cache(maxsize=1)
def simplification_table() -> Mapping[int, str]:
    """Traditional code point to Simplified character, read once."""
    from importlib.resources import files  # imported late because it is slow

    content = (files("softquery.text") / "simplified.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in content.splitlines() if line and line[0] != "#")
    table = {ord(traditional): simple for traditional, simple in rows}
    for code in chain(
        *_SECOND_ENCODINGS
    ):  # unified here, because Unicode normalisation comes later
        unified = unicodedata.normalize("NFKC", chr(code))
        if len(unified) == 1 and ord(unified) in table:
            table[code] = table[ord(unified)]
    return table


@lru_cache(maxsize=64)
def _cached_normaliser(config: TextConfig) -> normalizers.Normalizer:
    return build_normaliser(config)


CJK: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\x{30FC}"
"""Scripts written without spaces, whose characters stand alone."""
LETTER: Final = rf"[\p{{L}}\p{{M}}&&[^{CJK}]]"
LETTER_OR_DIGIT: Final = rf"[\p{{L}}\p{{M}}\p{{N}}&&[^{CJK}]]"
ANY_OTHER: Final = r"\S\p{M}*+"
"""One visible character with its combining marks: punctuation, emoji, a CJK character."""

# The Penn Treebank's contractions, on which GloVe's vocabulary was counted too. Both cases are
# written out because Oniguruma matches about ten times slower when told to ignore case.
_SUFFIX = rf"(?:[sS]|[mM]|[dD]|[rR][eE]|[vV][eE]|[lL][lL])(?!{LETTER_OR_DIGIT})"
_NOT = rf"[nN]'[tT](?!{LETTER_OR_DIGIT})"
_WORD_PATTERNS = (
    rf"(?<={LETTER_OR_DIGIT}){_NOT}",  # n't
    rf"(?<={LETTER_OR_DIGIT})'{_SUFFIX}",  # 's
    rf"(?<!{LETTER_OR_DIGIT})(?:{LETTER}\.){{2,8}}",  # u.s.
    rf"(?<!{LETTER_OR_DIGIT})\p{{N}}++(?:[.,]\p{{N}}++)++",  # 3,000.50
    rf"{LETTER_OR_DIGIT}{{1,32}}?(?={_NOT})",  # do, before n't
    rf"{LETTER_OR_DIGIT}++(?:'(?!{_SUFFIX}){LETTER_OR_DIGIT}++){{0,8}}",  # word, o'clock
)

WORDS: Final = "|".join((*_WORD_PATTERNS, ANY_OTHER))
CHARACTERS: Final = "|".join((f"{LETTER}++", ANY_OTHER))
CJK_RUNS: Final = "|".join((*_WORD_PATTERNS, f"[{CJK}]{{1,200}}", ANY_OTHER))
"""Words and runs of CJK characters, which a word segmenter then cuts.

Runs are bounded, because jieba's time grows with the square of their length."""
VISIBLE: Final = r"\S++"
"""Everything between spaces, for text that is tokenised already."""
WHOLE_WORDS: Final = "|".join((f"{LETTER_OR_DIGIT}++", ANY_OTHER))
"""What WordPiece cuts into pieces."""
MARKED_RUNS: Final = "|".join(
    (
        rf"{WORD_START}?{LETTER}++",
        rf"{WORD_START}?\p{{N}}++",
        rf"{WORD_START}?[{CJK}]++",
        rf"{WORD_START}?[^{WORD_START}]\p{{M}}*+",
        WORD_START,
    )
)
"""The units of BPE: a word keeps the mark of the space before it, which decoding restores."""


def build_segmenter(config: TextConfig) -> pre_tokenizers.PreTokenizer | None:
    """The pre-tokeniser that is stored in `tokenizer.json`; none for words of jieba.

    >>> from softquery.text import TextConfig
    >>> cut = build_segmenter(TextConfig()).pre_tokenize_str
    >>> [token for token, _ in cut("he's sure they don't pay $3,000.50 in the u.s.")]
    ['he', "'s", 'sure', 'they', 'do', "n't", 'pay', '$', '3,000.50', 'in', 'the', 'u.s.']
    """
    if config.unit == "jieba":
        return None
    if config.unit == "bert":
        return pre_tokenizers.BertPreTokenizer()
    if config.unit == "bpe":
        marked = pre_tokenizers.Metaspace(
            replacement=WORD_START, prepend_scheme="always", split=False
        )
        return pre_tokenizers.Sequence([marked, matches(MARKED_RUNS)])
    patterns = {
        "words": WORDS,
        "characters": CHARACTERS,
        "whitespace": VISIBLE,
        "wordpiece": WHOLE_WORDS,
    }
    return matches("|".join([*_kept_whole(config), patterns[config.unit]]))


def _kept_whole(config: TextConfig) -> list[str]:
    """Patterns of the markers in their normalised form, the longest first."""
    normal = {normalise(marker, config) for marker in config.markers} - {""}
    return [re.escape(marker) for marker in sorted(normal, key=lambda each: (-len(each), each))]


def matches(pattern: str) -> pre_tokenizers.PreTokenizer:
    """Keep what matches as tokens and drop what lies between."""
    return pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)


_loading = threading.Lock()


class WordSegmenter:
    """Cuts text into words: runs of Chinese by jieba, all else by the patterns of `words`.

    Args:
        normaliser: Applied first, so that jieba's dictionary finds the words.
    """

    def __init__(self, normaliser: normalizers.Normalizer) -> None:
        if find_spec("jieba") is None:  # refused here, not at the first sentence
            raise MissingExtra("zh", needed_for="cutting Chinese text into words")
        self._normaliser = normaliser
        self._runs = matches(CJK_RUNS)

    def words(self, text: str) -> list[str]:
        """The words of a text; faster than `spans`."""
        runs = self._runs.pre_tokenize_str(self._normaliser.normalize_str(text))
        return [word for run, _ in runs for word in _cut(run)]

    def spans(self, text: str) -> list[tuple[str, Span]]:
        """The words of a text, each with its offsets."""
        pieces = PreTokenizedString(text)
        pieces.normalize(self._normaliser.normalize)
        self._runs.pre_tokenize(pieces)
        pieces.split(_cut_piece)
        return [(word, span) for word, span, _ in pieces.get_splits("original", "char")]


def _cut_piece(_: int, piece: NormalizedString) -> list[NormalizedString]:
    words = _cut(piece.normalized)
    ends = list(accumulate(len(word) for word in words))
    cuts = [piece[end - len(word) : end] for word, end in zip(words, ends, strict=True)]
    return [cut for cut in cuts if cut is not None]


def _cut(run: str) -> list[str]:
    """One run's words; only runs of Chinese characters can have more than one."""
    if len(run) == 1 or run.isascii():
        return [run]
    words: list[str] = _dictionary().lcut(run) if _is_ideographic(run) else [run]
    return words


def _is_ideographic(run: str) -> bool:
    # The Han blocks of jieba's dictionary; jieba would cut other scripts letter by letter.
    return any("\u3400" <= character <= "\u9fff" for character in run)


def _dictionary() -> Any:
    with _loading:  # the first caller loads; the others wait instead of loading too
        return _loaded_dictionary()


@lru_cache(maxsize=1)
def _loaded_dictionary() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its sources predate raw strings
        import jieba
    jieba.setLogLevel("WARNING")
    # A separate instance: jieba's shared one can be changed elsewhere in the process, and its usual
    # start reads a cache file from the temporary folder, which anyone may write.
    dictionary = jieba.Tokenizer()
    dictionary.FREQ, dictionary.total = dictionary.gen_pfdict(dictionary.get_dict_file())
    dictionary.initialized = True
    return dictionary


_PLAIN: Final = re.compile(r"""([A-Za-z]+)([,.;:!?)"]?)""")
"""The common case: a word of letters, and perhaps a punctuation mark, which is a token."""


class WordTokenizer:
    """Tokenises texts exactly as a `TextPipeline` of the same settings does, without a vocabulary.

    No rule looks across a space, so that callers may tokenise the parts between spaces one by one
    and cache them.

    Args:
        config: The settings; sub-words, which need a vocabulary, are refused.

    >>> WordTokenizer(TextConfig()).words("He's SURE.")
    ['he', "'s", 'sure', '.']
    """

    def __init__(self, config: TextConfig) -> None:
        if config.unit in SUBWORDS:
            raise ConfigError(
                f"text.unit {config.unit!r} makes sub-words; "
                "expected words, characters, whitespace or jieba"
            )
        self._prepare = simplified if config.simplify else repaired
        self._normaliser = build_normaliser(config)
        self._chinese = WordSegmenter(self._normaliser) if config.unit == "jieba" else None
        self._segmenter = build_segmenter(config)
        self._knows_plain = config.unit in ("words", "characters", "jieba")
        self._lowercase = config.lowercase

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        plain = _PLAIN.fullmatch(text) if self._knows_plain else None
        if plain is not None:  # the rules would give the same
            word, mark = plain.groups()
            lowered = word.lower() if self._lowercase else word
            return [lowered, mark] if mark else [lowered]
        text = self._prepare(text)
        if self._segmenter is None or self._chinese is not None:
            return [] if self._chinese is None else self._chinese.words(text)
        cut = self._segmenter.pre_tokenize_str(self._normaliser.normalize_str(text))
        return [word for word, _ in cut]
