"""Texts of many sources in one file: each once, none that is measured with, and their card."""

import json
import lzma
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

NOT_WORDS = re.compile(r"[\W_]+")
UNIT = re.compile(r"[㐀-鿿]|[^\s㐀-鿿]+")
"""A Chinese character, or a word."""
KEPT, REPEATED, HELD_OUT = "kept", "repeated", "held out"
LENGTH, NOT_TEXT = "too short or long", "hardly a text"
PRESET, BLOCK, THREADS = 6, 200_000, 2
LETTER = re.compile(r"[^\W\d_]")
MARKUP = re.compile(r"!INCLUDE|\{\{|\}\}|<[a-z/]|^\W{3}")


def tidy(text: str) -> str:
    """The text with single spaces and nothing that does not show.

    >>> tidy(" What\u00a0is\u200b this? ")
    'What is this?'
    """
    if not text.isprintable():
        text = "".join(letter for letter in text if letter.isprintable() or letter.isspace())
    return " ".join(text.split())


def same_key(text: str) -> str:
    """What equal texts have in common, whatever their case, width and spacing.

    >>> same_key("ＷＨＹ  me") == same_key("Why me")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def bare_key(text: str) -> str:
    """As `same_key`, but without spaces and punctuation: tokenised texts are equal to raw ones.

    >>> bare_key("What 's up ?") == bare_key("what's up")
    True
    """
    key = unicodedata.normalize("NFKC", text).casefold()
    return NOT_WORDS.sub("", key) or key


def length_of(text: str) -> int:
    """Words, and Chinese characters one by one."""
    return len(UNIT.findall(text))


@dataclass(slots=True)
class Collection:
    """Texts under way to one file.

    Attributes:
        held_out: Bare keys of the texts that are measured with.
        shortest: Words of the shortest text.
        longest: Words of the longest text.
        texts: What was kept, by its key.
        sources: Where each came from, by its key.
        counts: What happened to the texts of each source.
    """

    held_out: frozenset[str]
    shortest: int = 3
    longest: int = 60
    texts: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, source: str, text: str) -> bool:
        """Keep a text, unless it is known, held out, too short or too long."""
        text = tidy(text)
        outcome = self._judge(source, text)
        self.counts.setdefault(source, Counter())[outcome] += 1
        return outcome == KEPT

    def _judge(self, source: str, text: str) -> str:
        if not self.shortest <= length_of(text) <= self.longest:
            return LENGTH
        if MARKUP.search(text) or len(LETTER.findall(text)) < 0.5 * len(text.replace(" ", "")):
            return NOT_TEXT
        if (key := same_key(text)) in self.texts:
            return REPEATED
        if bare_key(text) in self.held_out:
            return HELD_OUT
        self.texts[key], self.sources[key] = text, source
        return KEPT

    def lines(self, wanted: Callable[[str], bool] = lambda source: True) -> list[str]:
        """The texts of wanted sources in the order of their keys, in which they compress best."""
        return [self.texts[key] for key in sorted(self.texts) if wanted(self.sources[key])]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to an .xz of several streams, compressed side by side."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, ThreadPoolExecutor(THREADS) as pool:
        file.writelines(pool.map(partial(lzma.compress, preset=PRESET), _blocks(lines)))


def _blocks(lines: Iterable[str]) -> Iterator[bytes]:
    every = iter(lines)
    while block := list(islice(every, BLOCK)):
        yield "".join(f"{line}\n" for line in block).encode()


def report(
    collection: Collection, licences: Mapping[str, tuple[str, str]], path: Path
) -> dict[str, object]:
    """What a card says: rows and licence by source, what was left out, lengths, size."""
    rows = []
    for name, found in collection.counts.items():
        licence, note = licences[name]
        left_out = {
            each: found[each] for each in (REPEATED, HELD_OUT, LENGTH, NOT_TEXT) if found[each]
        }
        rows.append(
            {"name": name, "rows": found[KEPT], "licence": licence, "note": note}
            | {"left_out": left_out}
        )
    lengths = sorted(map(length_of, collection.texts.values())) or [0]
    shares = {"5 %": 0.05, "median": 0.5, "mean": None, "95 %": 0.95}
    return {
        "texts": len(collection.texts),
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "held_out_dropped": sum(found[HELD_OUT] for found in collection.counts.values()),
        "words_or_characters": {
            name: round(sum(lengths) / len(lengths), 1)
            if share is None
            else lengths[int(share * (len(lengths) - 1))]
            for name, share in shares.items()
        },
        "data": rows,
    }


def write_report(found: Mapping[str, object], path: Path) -> None:
    """Write the report beside the texts, and show it."""
    beside = path.with_name(path.name.partition(".")[0] + ".json")
    beside.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    heads = ("rows", "repeated", "held out", "length", "no text")
    print(f"{'source':62}" + "".join(f" {name:>9}" for name in heads) + "  licence")
    for row in found["data"]:  # type: ignore[attr-defined]
        left = [row["left_out"].get(each, 0) for each in (REPEATED, HELD_OUT, LENGTH, NOT_TEXT)]
        numbers = "".join(f" {number:>9,}" for number in (row["rows"], *left))
        print(f"{row['name']:62}{numbers}  {row['licence']}")
    print({name: value for name, value in found.items() if name != "data"})
