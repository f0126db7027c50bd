"""A catalogue: texts by their English words, also where something was filled into these.

Its texts have names in braces where the sources fill something in. So `cannot be written (is a
folder)` is found as it stands, and `expected 3 columns, found 2` by `expected {count} columns,
found {number}`. What was filled in may itself be a text of the catalogue.
"""

import gettext
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

DOMAIN = "softquery"
HOLE = re.compile(r"\{([a-z_][a-z_0-9]*)\}")
PLACE = "{source}, row {row}"
"""How an error names the row that it is about; see `softquery.errors.InputError`."""
_ROW = re.compile(r"(?P<source>.*), row (?P<row>[\d,]+)", re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
FEWEST_LETTERS = 5
"""Beside what is filled in; with fewer, a text would be found in nearly everything."""
_JOINT = re.compile(r"; | \(|, ")
NAMED = "language"
"""What is filled in under such a name is one of the catalogue's texts, be it a single word."""
LISTS = frozenset({"forms", "known", "known_suffixes", "missing", "names", "options", "stages"})
"""What is filled in under such a name may be a list of names."""
_JOINTS = re.compile(r"(, | and | or )")
DEEPEST = 4
"""How often a text may hold a text."""


def is_open(text: str) -> bool:
    """Whether a text says too little by itself to be recognised.

    >>> is_open("{name}: {count} in {place}"), is_open("grade {score}"), is_open("{number} texts")
    (True, False, False)
    """
    if HOLE.search(text) is None or text.startswith("{number} "):
        return False
    letters = len(_LETTER.findall(HOLE.sub("", text)))
    return letters < FEWEST_LETTERS and (text.startswith("{") or letters < 2)


class Template:
    """An English text with names in braces, as a pattern.

    Args:
        text: The English text.
        translation: Has the same names in braces.
    """

    def __init__(self, text: str, translation: str) -> None:
        self.translation = translation
        self._pieces = HOLE.split(text)  # text, name, text, name, …, text
        self.anchor = max(self._pieces[::2], key=len)
        self.num_letters = sum(map(len, self._pieces[::2]))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = [
            re.escape(piece) if place % 2 == 0 else f"(?P<{piece}>{_filling(piece)})"
            for place, piece in enumerate(self._pieces)
        ]
        return re.compile("".join(parts), re.DOTALL)

    def values(self, text: str) -> dict[str, str] | None:
        """What was filled in, where a text is made of this one."""
        if self.anchor not in text:
            return None
        found = self._pattern.fullmatch(text)
        return None if found is None else found.groupdict()


def _filling(name: str) -> str:
    return r"[\d,.]+" if name.startswith("number") else ".*?"


def _filled(translation: str, values: dict[str, str]) -> str:
    return HOLE.sub(lambda hole: values.get(hole[1], hole[0]), translation)


class Reading(NamedTuple):
    """A text as a catalogue understands it."""

    told: str
    """In the other language."""
    num_letters: int
    """How much of the text the catalogue knows; the rest was filled in."""


class TextCatalogue:
    """The texts of one language.

    Args:
        texts: The translation of each English text.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    @cached_property
    def _templates(self) -> list[Template]:
        return [
            Template(text, told)
            for text, told in self.texts.items()
            if HOLE.search(text) and text != PLACE
        ]

    def localise(self, text: str) -> str:
        """The text in this language; as it is where it is not known.

        Where it can be understood in several ways, that one is taken which leaves least of it to
        what was filled in.

        >>> catalogue = TextCatalogue({
        ...     "expected {count}, found {number} rows": "应有 {count}，实为 {number} 行",
        ...     "a row": "一行",
        ... })
        >>> catalogue.localise("data.tsv: expected a row, found 2 rows")
        'data.tsv：应有 一行，实为 2 行'
        """
        return self._whole(text, 0).told

    def _whole(self, text: str, depth: int) -> Reading:
        """The best reading of a text, which may be that it stays as it is."""
        if text in self.texts:
            return Reading(self.texts[text], len(text))
        unknown = Reading(text, 0)
        if depth == DEEPEST:
            return unknown
        readings = [*self._by_template(text, depth), *self._after_a_place(text, depth)]
        return max(readings, key=lambda each: each.num_letters, default=unknown)

    def _by_template(self, text: str, depth: int) -> Iterator[Reading]:
        for template in self._templates:
            values = template.values(text)
            if values is not None:
                parts = {name: self._named(name, value, depth) for name, value in values.items()}
                told = {name: part.told for name, part in parts.items()}
                known = sum(part.num_letters for part in parts.values())
                yield Reading(_filled(template.translation, told), template.num_letters + known)

    def _after_a_place(self, text: str, depth: int) -> Iterator[Reading]:
        """A text after the name of a file, or whatever else it is about, and a colon."""
        place = text.find(": ")
        while place >= 0:
            rest = self._whole(text[place + 2 :], depth + 1)
            if rest.num_letters:
                head = self._place(text[:place], depth)
                yield Reading(f"{head.told}：{rest.told}", head.num_letters + rest.num_letters)
                return
            place = text.find(": ", place + 1)

    def _place(self, head: str, depth: int) -> Reading:
        row = _ROW.fullmatch(head)
        if row is not None and PLACE in self.texts:
            source = self.texts.get(row["source"], row["source"])
            told = _filled(self.texts[PLACE], {"source": source, "row": row["row"]})
            return Reading(told, len(", row "))
        return self._filled_in(head, depth)

    def _named(self, name: str, value: str, depth: int) -> Reading:
        """What was filled in under a name, which says what it may be."""
        found = self._filled_in(value, depth, is_text=name.startswith(NAMED))
        is_list = name in LISTS and not found.num_letters
        return Reading(self._listed(value), 0) if is_list else found

    def _listed(self, value: str) -> str:
        """A list with the joints of this language; a name with a space in it stays whole.

        >>> TextCatalogue({" or ": " 或 ", ", ": "、"})._listed("a, b or c")
        'a、b 或 c'
        """
        pieces = _JOINTS.split(value)
        if any(" " in item for item in pieces[::2]):
            return value
        pieces[1::2] = (self.texts.get(joint, joint) for joint in pieces[1::2])
        return "".join(pieces)

    def _filled_in(self, value: str, depth: int, *, is_text: bool = False) -> Reading:
        """What was filled in. A single word is likelier a name, unless it must be a text."""
        if " " not in value.strip() and not is_text:
            return Reading(value, 0)
        whole = self._whole(value, depth + 1)
        if whole.num_letters:
            return whole
        for found in _JOINT.finditer(value):  # a name, and a text right behind it
            tail = self._whole(value[found.start() :].lstrip(), depth + 1)
            if tail.num_letters:
                return Reading(value[: found.start()] + tail.told, tail.num_letters)
        return whole


class _Compiled(gettext.GNUTranslations):
    """A compiled catalogue, of which all texts can be had."""

    def texts(self) -> dict[str, str]:
        held: dict[str, str] = self._catalog  # type: ignore[attr-defined]
        return {text: told for text, told in held.items() if text}


@cache
def open_catalogue(language: str) -> TextCatalogue:
    """The catalogue of a language, read once."""
    folder = Path(__file__).parent / language / "LC_MESSAGES"
    with (folder / f"{DOMAIN}.mo").open("rb") as file:
        return TextCatalogue(_Compiled(file).texts())
