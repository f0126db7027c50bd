"""The languages of an index: those of its rows, those that its models read, that of a query."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike

from softquery.bundle import Bundle
from softquery.bundle.card import card_languages
from softquery.errors import ConfigError, InputError, counted
from softquery.plain_files import read_plain
from softquery.runtime.bert.backend import is_bert
from softquery.runtime.match.backend import is_pair_head
from softquery.text.languages import LANGUAGES, LATIN_LANGUAGES, language_name
from softquery.zoo import entries, shipped_folder
from softquery.zoo.by_language import SHIPPED_ENCODERS, SHIPPED_MATCHERS

FEW = 0.1
"""The share of rows that may be in another language than the others."""
LARGEST_CARD = 1 << 20
Languages = Mapping[str | None, int]
"""How many rows are in each language; None where nothing tells."""


@dataclass(frozen=True, slots=True)
class MatcherChoice:
    """The matcher that fits the rows of an index, and why."""

    model: str
    reason: str


def choose_matcher(languages: Languages, source: str | PathLike[str]) -> MatcherChoice:
    """The shipped matcher for rows in these languages.

    Raises:
        InputError: The rows are in several languages, or in one that no shipped matcher reads.

    >>> choose_matcher({"zh": 29, "en": 1, None: 2}, "faq.csv")
    MatcherChoice(model='match-zh', reason='29 of 32 rows are in Chinese')
    """
    known = Counter({code: count for code, count in languages.items() if code is not None})
    if not known:
        return MatcherChoice(SHIPPED_MATCHERS["en"], "no row tells its language")
    (first, count), *_ = known.most_common()
    if known.total() - count > FEW * known.total():
        raise InputError(_mixed(known), source=source)
    if first not in SHIPPED_MATCHERS:
        raise InputError(f"its rows are in {language_name(first)}; {_SHIPPED}", source=source)
    rows = f"{count:,} of {counted(sum(languages.values()), 'row is', 'rows are')}"
    return MatcherChoice(SHIPPED_MATCHERS[first], f"{rows} in {language_name(first)}")


def shipped_matcher_language(bundle: Bundle) -> str | None:
    """The language of a matcher that is one of the shipped ones for search; None for others."""
    if bundle.path.parent != shipped_folder():
        return None
    by_name = {name: code for code, name in SHIPPED_MATCHERS.items()}
    return by_name.get(bundle.path.name)


def default_encoder(bundle: Bundle) -> str | None:
    """The sentence encoder that goes with a matcher, if it is there; None if not.

    With a shipped matcher goes that of its language. With one that reads both sentences as one, and
    so has no vectors, or is a head on pairs, goes that of the language that its card names, or else
    English.
    """
    code = shipped_matcher_language(bundle)
    if code is None and (is_bert(bundle) or is_pair_head(bundle)):
        read = languages_read(bundle) or frozenset()
        code = "zh" if "zh" in read and "en" not in read else "en"
    name = SHIPPED_ENCODERS.get(code or "")
    there = {entry.name for entry in entries() if entry.problem is None}
    return name if name in there else None


def check_language(code: object) -> None:
    """Refuse a language that is not told apart from others."""
    if code not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ConfigError(f"no language is called {code!r:.40}; known: {known}")


def languages_read(bundle: Bundle) -> frozenset[str] | None:
    """The languages that a model reads, as far as they are told apart; None if that is not known.

    A shipped model's card says it. Cards of other models guess it from their unit of text, so that
    they are believed about the script alone.
    """
    try:
        text = read_plain(bundle.path / "README.md", LARGEST_CARD).decode("utf-8", "replace")
    except OSError:
        return None
    found = frozenset(card_languages(text))
    if not found or not found <= set(LANGUAGES):
        return None
    if bundle.path.parent != shipped_folder() and found & LATIN_LANGUAGES:
        return found | LATIN_LANGUAGES
    return found


def unread_rows(languages: Languages, read: Collection[str] | None) -> dict[str, int]:
    """How many rows are in each language that a model does not read, most of them first.

    >>> unread_rows({"en": 9, "zh": 2, None: 1}, {"en"})
    {'zh': 2}
    """
    if read is None:
        return {}
    order = sorted(languages.items(), key=lambda each: -each[1])
    return {code: count for code, count in order if code is not None and code not in read}


def counted_languages(languages: Mapping[str, int]) -> str:
    """How many rows are in each language, in words.

    >>> counted_languages({"en": 1200, "zh": 1})
    '1,200 rows are in English, 1 in Chinese'
    """
    (first, count), *others = languages.items()
    begin = f"{counted(count, 'row is', 'rows are')} in {language_name(first)}"
    return ", ".join([begin, *(f"{n:,} in {language_name(code)}" for code, n in others)])


def query_note(language: str | None, unable: Iterable[str]) -> str | None:
    """What whoever asks must know of the models that do not read the query's language, if any.

    >>> query_note("zh", ["match-en"])
    'the query is in Chinese, which match-en does not read; scores mean little'
    """
    names = list(unable)
    if language is None or not names:
        return None
    verb = "does not read" if len(names) == 1 else "do not read"
    which = f"which {' and '.join(names)} {verb}"
    return f"the query is in {language_name(language)}, {which}; scores mean little"


def _mixed(known: Counter[str]) -> str:
    """The refusal of rows in several languages, with a way out."""
    most = dict(known.most_common(5))
    options = " and ".join(f"--language {code}" for code in most if code in SHIPPED_MATCHERS)
    way = f"build one for each language ({options})" if options else "build one for each language"
    return f"{counted_languages(most)}, and an index has one matcher; {way}, or name it by --model"


_SHIPPED = "the shipped matchers read {}; name another by --model".format(
    " and ".join(f"{language_name(code)} ({name})" for code, name in SHIPPED_MATCHERS.items())
)
