"""The script and the language of a text, guessed from its characters and its commonest words.

It needs no model and is meant for short questions. Scripts are sure. Of the languages in Latin
script it knows those in `_FUNCTION_WORDS`; any other text of several Latin words counts as English.
"""

import re
import unicodedata
from collections import Counter
from itertools import islice

LONGEST = 2000
"""Characters of a text that are looked at."""
LATIN, HAN, KANA = "Latin", "Han", "kana"
_RANGES = {
    LATIN: r"A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    HAN: r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    KANA: r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff",
    "hangul": r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "Cyrillic": r"\u0400-\u0481\u048a-\u052f",
    "Greek": r"\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u03ff\u1f00-\u1fff",
    "Arabic": r"\u0620-\u064a\u066e\u066f\u0671-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0750-\u077f",
    "Hebrew": r"\u05d0-\u05ea",
    "Devanagari": r"\u0904-\u097f",
    "Thai": r"\u0e01-\u0e3a\u0e40-\u0e4e",
}
_BY_CHARACTER = (HAN, KANA, "hangul", "Thai")
"""Scripts without spaces, or with syllables as characters: each of them counts as a word."""
_WORDS = re.compile(
    "|".join(
        f"(?P<{name}>[{marks}]{'' if name in _BY_CHARACTER else '+'})"
        for name, marks in _RANGES.items()
    )
)
_LANGUAGE_OF_SCRIPT = {
    HAN: "zh",
    KANA: "ja",
    "hangul": "ko",
    "Greek": "el",
    "Hebrew": "he",
    "Thai": "th",
    "Cyrillic": "und-Cyrl",
    "Arabic": "und-Arab",
    "Devanagari": "und-Deva",
}
LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "el": "Greek",
    "he": "Hebrew",
    "th": "Thai",
    "und-Cyrl": "Cyrillic script",
    "und-Arab": "Arabic script",
    "und-Deva": "Devanagari script",
}
"""Every language that is told apart, by its code in BCP 47; some scripts have many languages."""
_FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "en": "a an and are as at be by can could did do does for from had has have how i if in is "
        "it me my no not of on or our should that the their there they this to us was we what when "
        "where which who why will with would you your",
        "de": "aber auf aus bei bin das dass dem den der des die ein eine einem einen einer es für "
        "gibt habe haben ich ihr im ist kann kein keine können mein meine meinem meinen meiner "
        "mich mir mit nach nicht oder sie sich sind und von warum was welche wenn werden wie wird "
        "wo zu zum zur",
        "fr": "au aux avec ce ces cette comment dans de des du elle en est et être faire il je la "
        "le les leur ma mais mes mon ne nous où par pas peut peux pour pourquoi quand que quel "
        "quelle quels qui sans ses son sont sur un une vos votre vous",
        "es": "al como con cómo cuál cuáles cuándo cuánto de del dónde el en es esta este está la "
        "las lo los mi mis muy no para pero por puedo qué que se si sin son su sus tengo un una y "
        "yo",
        "it": "al alla che chi ci come con cosa da dal del della di dove e gli ho il in io la le "
        "lo ma mi mia mio nel nella non per perché posso quando quanto quali qual questo si sono "
        "sul un una è",
        "pt": "a ao as com como da de do dos e é em eu eles isso mas me meu meus minha não na no "
        "nos o onde os para pelo por posso qual quais quando quanto que se sem seu sua são um uma "
        "você",
        "nl": "aan als bij dat de deze die dit een en er geen heb heeft het hoe ik in is je kan "
        "kun maar met mijn naar niet nog of om ook op te uit van voor waar waarom wanneer wat we "
        "welke wie wordt ze zijn zonder",
    }.items()
}
LATIN_LANGUAGES = frozenset(_FUNCTION_WORDS)
"""Languages in Latin script that are told apart."""
_LETTERS = {"de": "äöüß", "fr": "çèêëîïôœùû", "es": "ñ¿¡", "it": "ìò", "pt": "ãõ"}
"""Characters that count as much as one of the words: English has them in loans alone."""


def script_of(text: str) -> str | None:
    """The script with most words of a text; None if it has no letters.

    A character of Han, kana, hangul or Thai counts as a word. Latin words stand in texts of every
    language, and win only if there are more of them than of all others.

    >>> script_of("VPN怎么用？"), script_of("What does 你好 mean?"), script_of("1 + 1 = ?")
    ('Han', 'Latin', None)
    """
    counts = _script_counts(_composed(text))
    latin = counts.pop(LATIN, 0)
    if latin > sum(counts.values()):
        return LATIN
    if counts[KANA] > 1 or counts[KANA] > counts[HAN]:  # Chinese borrows single kana
        counts[KANA] += counts.pop(HAN, 0)
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def language_of(text: str) -> str | None:
    """The likeliest language of a text, as a key of `LANGUAGES`; None if nothing tells.

    Chinese is what has Han characters and no kana. Cyrillic, Arabic and Devanagari are scripts of
    many languages, and named as such. A single Latin word, such as a brand, tells nothing.

    >>> [language_of(text) for text in ("How do I pay?", "怎么退款", "返品したい", "Wi-Fi 7")]
    ['en', 'zh', 'ja', None]
    >>> language_of("Wie setze ich mein Passwort zurück?"), language_of("Как оплатить?")
    ('de', 'und-Cyrl')
    """
    script = script_of(text)
    if script is None or script == LATIN:
        return None if script is None else _latin_language(_composed(text).lower())
    return _LANGUAGE_OF_SCRIPT[script]


def language_name(code: str) -> str:
    """A language as messages name it; its code if it has no name here.

    >>> language_name("zh"), language_name("und-Cyrl"), language_name("sw")
    ('Chinese', 'Cyrillic script', 'sw')
    """
    return LANGUAGES.get(code, code)


def _composed(text: str) -> str:
    """The beginning of a text with composed letters, and none that are wide or narrow."""
    return unicodedata.normalize("NFKC", text[:LONGEST])


def _script_counts(text: str) -> Counter[str]:
    return Counter(str(found.lastgroup) for found in _WORDS.finditer(text))


def _latin_language(text: str) -> str | None:
    words = [found.group() for found in islice(_WORDS.finditer(text), LONGEST)]
    hits = {
        language: sum(word in known for word in words)
        for language, known in _FUNCTION_WORDS.items()
    }
    for language, letters in _LETTERS.items():
        hits[language] += any(letter in text for letter in letters)
    best = max(hits, key=lambda language: (hits[language], language == "en"))
    if hits[best] >= 2 and hits[best] > hits["en"]:
        return best
    is_telling = hits["en"] or sum(len(word) > 3 for word in words) > 1  # more than abbreviations
    return "en" if len(words) > 1 and is_telling else None
