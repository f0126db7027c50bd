"""Where one token ends and the next begins.

Patterns are Oniguruma's and run inside `tokenizers`; they see normalised text. Oniguruma gives up
(and `tokenizers` then panics) after a number of retries, so that every repetition is possessive
(`++`, `*+`) or bounded: no input makes them retry more than a few dozen times at one place.
"""

import re
from typing import Final

from tokenizers import Regex, pre_tokenizers

from softquery.text.normalise import WORD_START, normalise
from softquery.text.text_config import TextConfig

CJK: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\x{30FC}"
"""Scripts written without spaces, whose characters stand alone."""
LETTER: Final = rf"[\p{{L}}\p{{M}}&&[^{CJK}]]"
LETTER_OR_DIGIT: Final = rf"[\p{{L}}\p{{M}}\p{{N}}&&[^{CJK}]]"
ANY_OTHER: Final = r"\S\p{M}*+"
"""One visible character with its combining marks: punctuation, emoji, a CJK character."""

# The Penn Treebank's contractions, on which GloVe's vocabulary was counted too. Both cases are
# spelt out because Oniguruma matches about ten times slower when told to ignore case.
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
"""Words, but a run of CJK characters whole: what a word segmenter then cuts.

A run is rarely longer than a clause; jieba's time grows with the square of the length."""
VISIBLE: Final = r"\S++"
"""What lies between spaces: text that somebody has cut into tokens already."""
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
"""What BPE cuts: a word keeps the mark of the space before it, so that decoding restores it."""


def build_segmenter(config: TextConfig) -> pre_tokenizers.PreTokenizer | None:
    """The pre-tokeniser that lives in `tokenizer.json`; none where words come ready cut.

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
    """Patterns of the markers, as they are spelt when the text is cut; the longest first."""
    spelt = {normalise(marker, config) for marker in config.markers} - {""}
    return [re.escape(marker) for marker in sorted(spelt, key=lambda each: (-len(each), each))]


def matches(pattern: str) -> pre_tokenizers.PreTokenizer:
    """Keep what matches as tokens and drop what lies between."""
    return pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)
