"""Which languages an index has parts for: `languages.json`, beside a folder for each of them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from softquery.atomic import write_text
from softquery.errors import InputError
from softquery.files import Row
from softquery.search.query.index_languages import FEW
from softquery.search.storage.entries import PHRASINGS, QUESTION, SourceRows, phrased, phrasings_of
from softquery.search.storage.index_files import read_json
from softquery.search.storage.json_fields import FLAG, TEXTS, check_fields, one_of
from softquery.search.storage.manifest import LANGUAGES
from softquery.text.languages import language_of
from softquery.zoo.by_language import SHIPPED_MATCHERS

ENOUGH = 20
"""Rows in another language that get a part of their own, however small their share is."""
_FIELDS = {"languages": TEXTS, "main": one_of(tuple(SHIPPED_MATCHERS)), "unfinished": FLAG}


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageParts:
    """The parts of an index."""

    languages: tuple[str, ...]
    main: str
    """The one that takes rows that tell no language."""
    unfinished: bool = False
    """Whether the first indexing was interrupted, or is still running."""

    def write(self, folder: Path) -> None:
        """Make these the parts of an index."""
        content = {"format": 1, **asdict(self)}
        write_text(folder / LANGUAGES, json.dumps(content, indent=1) + "\n")


def has_parts(folder: Path) -> bool:
    """Whether a folder is an index with a part for each language."""
    return (folder / LANGUAGES).is_file()


def read_parts(folder: Path) -> LanguageParts:
    """The parts of an index.

    Raises:
        InputError: The file is damaged, or newer than this version of softquery.
    """
    path = folder / LANGUAGES
    try:
        data = read_json(path)
        if not isinstance(data, dict) or data.pop("format", None) != 1:
            raise ValueError("expected the languages of an index, in format 1")
        values = check_fields(data, _FIELDS, "the parts")
        unknown = set(values["languages"]) - set(SHIPPED_MATCHERS)
        if unknown or values["main"] not in values["languages"]:
            raise ValueError("its languages are none that parts are made for")
    except ValueError as error:
        raise InputError(f"is damaged ({error})", source=path) from None
    return LanguageParts(**{**values, "languages": tuple(values["languages"])})


def needed_parts(languages: Mapping[str | None, int]) -> LanguageParts | None:
    """The parts that rows in these languages need; None if one matcher is enough, or none reads.

    >>> needed_parts({"en": 90, "zh": 30, None: 4})
    LanguageParts(languages=('en', 'zh'), main='en', unfinished=False)
    >>> needed_parts({"en": 90, "zh": 3}) is needed_parts({"en": 90, "de": 30}) is None
    True
    """
    known = Counter({code: count for code, count in languages.items() if code is not None})
    read = [code for code, _ in known.most_common() if code in SHIPPED_MATCHERS]
    total = known.total()
    least = min(ENOUGH, FEW * total)
    chosen = [code for code in read if known[code] > least or known[code] >= ENOUGH]
    unread = total - sum(known[code] for code in read)
    if len(chosen) < 2 or unread > FEW * total:
        return None
    return LanguageParts(languages=tuple(chosen), main=chosen[0])


def rows_by_part(source: SourceRows, parts: LanguageParts) -> dict[str, SourceRows]:
    """The rows of each part; phrasings of one row in two languages are rows of two parts."""
    rows: dict[str, list[Row]] = {}
    languages: dict[str, Counter[str | None]] = {}
    for row in source.rows:
        values = phrased(row)
        by_part: dict[str, list[tuple[str, str | None]]] = {}
        for text in (values[QUESTION], *phrasings_of(values)):
            code = language_of(text)
            place = code if code in parts.languages else parts.main
            by_part.setdefault(str(place), []).append((text, code))
        for place, asked in by_part.items():
            (first, code), *more = asked
            its_own = {name: value for name, value in values.items() if name != PHRASINGS}
            its_own[QUESTION] = first
            if more:
                its_own[PHRASINGS] = json.dumps([text for text, _ in more], ensure_ascii=False)
            rows.setdefault(place, []).append(replace(row, values=its_own))
            languages.setdefault(place, Counter())[code] += 1
    return {code: SourceRows(rows[code], languages[code], source.name) for code in rows}
