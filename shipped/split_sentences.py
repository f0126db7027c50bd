"""Sentences of running text by rule, in English and Chinese, and which of them are worth keeping.

A splitter only cuts: the pieces, joined, are the text without the spaces at its cuts and ends.
"""

import re

ABBREVIATIONS = """
    adm al approx art assoc aug ave bros ca capt cf ch co col comm corp dec dept dr ed eds eg
    esp est etc feb fig figs fl fr ft gen gov hon ie inc jan jr jul jun lat lit lt ltd maj mar mr
    mrs ms mt no nos nov oct op p pp pres prof pt rep rev rt sen sep sept sgt sr st trans univ v
    vol vols vs"""
"""Words that keep their full stop inside a sentence, in lower case."""
STARTERS = """
    A After Although An And As At Because Before But By During For From He Her His However If
    In It Its Many Most On One She Since Some That The Their There These They This Those Though To
    Under Until Upon We When While With"""
"""Words that open a sentence even after an abbreviation such as U.S."""
KEEPS_DOT, OPENERS = frozenset(ABBREVIATIONS.split()), frozenset(STARTERS.split())
CUT = re.compile(r"""[.!?]["'”’)\]]*(\s+)(?=["'“‘(\[]?([A-Z0-9][\w’'-]*))""")
LAST_WORD = re.compile(r"[\w.&-]+$")
DOTTED = re.compile(r"(?:\w\.)*\w")
CHINESE_CUT = re.compile(
    r"(?<=[。！？；!?])(?![。！？；!?”’」』）)])|(?<=[。！？；!?][”’」』）)])(?![。！？])"
)


def split_english(text: str) -> list[str]:
    """The sentences of a paragraph.

    >>> split_english('Dr. J. Smith left the U.S. in 1990. "Why?" He did not say.')
    ['Dr. J. Smith left the U.S. in 1990.', '"Why?"', 'He did not say.']
    """
    pieces, start = [], 0
    for cut in CUT.finditer(text):
        if text[cut.start()] == "." and not _ends(text[start : cut.start()], cut[2]):
            continue
        pieces.append(text[start : cut.start(1)])
        start = cut.end(1)
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _ends(before: str, following: str) -> bool:
    """Whether the full stop after these words ends a sentence that `following` would follow."""
    found = LAST_WORD.search(before)
    if found is None:
        return True
    word = found[0]
    if word.lower() in KEEPS_DOT:
        return False
    if len(word) == 1 and word.isalpha():
        return word == "I"
    if "." in word and DOTTED.fullmatch(word):
        return following in OPENERS
    return True


def split_chinese(text: str) -> list[str]:
    """The sentences of a paragraph; a semicolon ends one, too.

    >>> split_chinese("他说：“走吧！”我们走了。为什么？")
    ['他说：“走吧！”', '我们走了。', '为什么？']
    """
    return [piece.strip() for piece in CHINESE_CUT.split(text) if piece.strip()]


DEBRIS = re.compile(
    r"https?:|www\.|[|{}<>=\\_@#*•→©°′″]|\(\s*[,;)]|\s[,.;!?](?:\s|$)|[,;]\s*[,;.]|\.\.\.|--|\s-\s\d"
    r"|\bISBN\b|''|^\W*(?:See also|Category|File|Image|Note):|\[|\bpp?\. ?\d|\w\.[A-Z][a-z]"
)
"""Marks of tables, formulae, references, and gaps that a template has left."""
OPENS = re.compile(r'["“(]?[A-Z0-9]')
ENDS = re.compile(r'[.!?]["”)]?$')
CHINESE_DEBRIS = re.compile(
    r"https?:|www\.|[|{}<>=\\_@#*•→©′″＝]|（[，；、）]|\([,;)]|[，、；：]{2}|《》|「」|“”|^[，、；：）)」』”]"
)
HAN = re.compile(r"[㐀-鿿]")


def is_sentence(text: str, *, shortest: int = 4, longest: int = 40) -> bool:
    """Whether an English sentence is complete and free of debris.

    >>> is_sentence("It was first used in 1539."), is_sentence("Etymology and terminology")
    (True, False)
    >>> is_sentence("The lake (, in Finnish) is large .")
    False
    """
    if not shortest <= text.count(" ") + 1 <= longest:
        return False
    if not (OPENS.match(text) and ENDS.search(text)) or DEBRIS.search(text):
        return False
    if text.count('"') % 2 or text.count("(") != text.count(")"):
        return False
    letters = sum(map(str.isalpha, text))
    strange = sum(map("\u0250".__le__, text)) - sum(map(text.count, "–—‘’“”"))
    return letters > 0.75 * (len(text) - text.count(" ")) and strange <= 1 and not text.isupper()


def is_chinese_sentence(text: str, *, shortest: int = 5, longest: int = 60) -> bool:
    """Whether a Chinese sentence is complete, of so many characters, and free of debris.

    >>> is_chinese_sentence("数学有着久远的历史。"), is_chinese_sentence("《》（，）")
    (True, False)
    """
    if (
        not shortest <= len(text) <= longest
        or text[-1] not in "。！？!?”"
        or CHINESE_DEBRIS.search(text)
    ):
        return False
    if any(text.count(one) != text.count(other) for one, other in ("（）", "“”", "「」", "《》")):
        return False
    return len(HAN.findall(text)) > 0.6 * len(text)
