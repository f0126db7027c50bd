"""The language of what people read: English, or one that has a catalogue beside this file.

The texts in the sources are English, and so are exceptions, logs and all JSON. Only where something
is printed or drawn for people is it looked up, by its English words, in the catalogue of their
language. What is not found there stays English. Who reads English never opens a catalogue.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

ENGLISH = "en"
VARIABLE = "SOFTQUERY_LANG"
LOCALE_VARIABLES = (VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG")
"""The first one that is set decides."""
CATALOGUES = {"zh": "zh_CN"}
"""The folder of the catalogue, by the language that a locale begins with."""

_NAME = re.compile(r"\{([a-z_]+)\}")
_chosen: list[str] = []


def language_of(locale: str) -> str:
    """The language in which a locale is served.

    >>> language_of("zh_CN.UTF-8"), language_of("zh-TW"), language_of("fr_FR"), language_of("C")
    ('zh_CN', 'zh_CN', 'en', 'en')
    """
    spoken = locale.replace("-", "_").partition(".")[0].partition("_")[0].lower()
    return CATALOGUES.get(spoken, ENGLISH)


def language_of_environment(environment: Mapping[str, str]) -> str:
    """The language that a user's environment asks for.

    >>> language_of_environment({"LANG": "zh_CN.UTF-8"})
    'zh_CN'
    >>> language_of_environment({"LANG": "zh_CN.UTF-8", "SOFTQUERY_LANG": "en"})
    'en'
    """
    asked = (environment.get(name, "") for name in LOCALE_VARIABLES)
    return language_of(next(filter(None, asked), ""))


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use a language until the end of the block.

    >>> with speaking("zh_CN"):
    ...     localised("interrupted")
    '已中断'
    """
    _chosen.append(language)
    try:
        yield
    finally:
        _chosen.pop()


def current_language() -> str:
    """The language of the command line; in Python, what `SOFTQUERY_LANG` says alone.

    A program must not change its pictures with the locale of whoever starts it.
    """
    return _chosen[-1] if _chosen else language_of(os.environ.get(VARIABLE, ""))


def localised(text: str) -> str:
    """A text in the current language, or as it is where there is no translation.

    Args:
        text: As the sources say it, also with what was filled in.

    >>> localised("holds no rows")
    'holds no rows'
    """
    language = current_language()
    if language == ENGLISH or not text:
        return text
    from softquery.language.text_catalogue import open_catalogue

    return open_catalogue(language).localise(text)


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """A text in the current language, with what users wrote in its places, word for word.

    Args:
        text: Has names in braces.
        values: What stands in place of each name.

    >>> filled_in("Who asked {name}?", {"name": "{nobody}"})
    'Who asked {nobody}?'
    """
    return _NAME.sub(lambda found: values[found[1]], localised(text))
