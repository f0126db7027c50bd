"""Draw the probes of a matcher from sentence frames with open slots; equal frames, equal probes.

    python shipped/draw_probes.py

writes `probes/NAME.tsv` from `probes/NAME.json`, byte for byte as it was. The JSON holds `words`,
lists by name that fill slots; and `kinds`, which say for every kind and label how many probes are
drawn from which sources. A source is a frame, `[first, second, slots]`, whose slots name a list of
words, hold one, or ask for two different entries by `{"two": …}`; or a long text of clauses,
`{"edited": …}` or `{"asked": …}`.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from softquery.files import write_text

FOLDER = Path(__file__).parent / "probes"
COLUMNS = ("sentence1", "sentence2", "label", "kind")
"""Of a file of probes."""
TRIES = 200
"""Draws without a new pair after which a frame has nothing more to give."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A pair whose label nobody would argue about, and the skill that it asks for."""

    sentence1: str
    sentence2: str
    label: str
    kind: str


class Source(Protocol):
    """Whatever pairs can be drawn from."""

    def draw(self, chance: random.Random) -> tuple[str, str]:
        """One pair."""


@dataclass(frozen=True, slots=True)
class Two:
    """A slot that is filled with two different entries, `{name[0]}` and `{name[1]}`."""

    pool: Sequence[Any]

    def draw(self, chance: random.Random) -> list[Any]:
        """Two entries."""
        return chance.sample(self.pool, 2)


@dataclass(frozen=True, slots=True)
class Frame:
    """Two sentences with slots that are filled alike.

    Args:
        first: Such as `"The {thing[0]} is {thing[1]}."`.
        second: Likewise.
        pools: What may stand in each slot.

    >>> Frame("{who} eats.", "{who} does not eat.", {"who": ["Ada"]}).draw(random.Random(1))
    ('Ada eats.', 'Ada does not eat.')
    """

    first: str
    second: str
    pools: Mapping[str, Sequence[Any] | Two]

    def draw(self, chance: random.Random) -> tuple[str, str]:
        """One pair, each sentence with a capital letter at its start."""
        filled = {
            name: pool.draw(chance) if isinstance(pool, Two) else chance.choice(pool)
            for name, pool in self.pools.items()
        }
        return capital(self.first.format(**filled)), capital(self.second.format(**filled))


@dataclass(frozen=True, slots=True)
class Edited:
    """Two long texts of joined clauses, every other clause of the second one edited.

    Args:
        clauses: Rows of a clause, the same said otherwise, and something else said.
        column: What replaces a clause: 1 for the same meaning, 2 for another.
        sizes: The fewest and the most clauses.
        joint: What stands between clauses.
    """

    clauses: Sequence[tuple[str, str, str]]
    column: int
    sizes: tuple[int, int]
    joint: str

    def draw(self, chance: random.Random) -> tuple[str, str]:
        """One pair of texts."""
        # In the order of the list, so that a text tells its story from the beginning.
        places = sorted(chance.sample(range(len(self.clauses)), chance.randint(*self.sizes)))
        rows = [self.clauses[place] for place in places]
        edited = set(chance.sample(range(len(rows)), len(rows) // 2))
        changed = [row[self.column if place in edited else 0] for place, row in enumerate(rows)]
        return self.joint.join(row[0] for row in rows), self.joint.join(changed)


@dataclass(frozen=True, slots=True)
class Asked:
    """A long text and one short sentence about something that it says, denies or leaves open.

    Args:
        clauses: Rows of a clause, what follows from it, what it rules out, what it leaves open.
        column: 1, 2 or 3.
        sizes: The fewest and the most clauses of the text.
        joint: What stands between clauses.
    """

    clauses: Sequence[tuple[str, str, str, str]]
    column: int
    sizes: tuple[int, int]
    joint: str

    def draw(self, chance: random.Random) -> tuple[str, str]:
        """One text with its question."""
        rows = chance.sample(list(self.clauses), chance.randint(*self.sizes))
        return self.joint.join(row[0] for row in rows), chance.choice(rows)[self.column]


Kinds = Mapping[str, Mapping[str, tuple[int, Sequence[Source]]]]
"""Kind to label to how many probes and what they are drawn from."""


def draw_probes(kinds: Kinds, *, symmetric: bool) -> list[Probe]:
    """Draw every kind's probes, evenly from its sources.

    Args:
        kinds: What to draw.
        symmetric: Whether the two sentences may change places without changing the label.
    """
    probes = []
    for kind, labels in kinds.items():
        for label, (count, sources) in labels.items():
            chance = random.Random(f"{kind} {label}")  # adding a kind leaves the others alone
            for pair in _different_pairs(sources, count, chance):
                first, second = pair[::-1] if symmetric and chance.random() < 0.5 else pair
                probes.append(Probe(first, second, label, kind))
    return probes


def capital(text: str) -> str:
    """The text with its first letter as a sentence has it."""
    return text[:1].upper() + text[1:]


def _different_pairs(
    sources: Sequence[Source], count: int, chance: random.Random
) -> list[tuple[str, str]]:
    found: dict[frozenset[str], tuple[str, str]] = {}
    open_sources = list(sources)
    while len(found) < count:
        if not open_sources:
            raise ValueError(f"the frames give {len(found)} pairs, but {count} are asked for")
        for source in list(open_sources):
            pair = _new_pair(source, found, chance)
            if pair is None:
                open_sources.remove(source)
            elif len(found) < count:
                found[frozenset(pair)] = pair
    return list(found.values())


def _new_pair(
    source: Source, known: Mapping[frozenset[str], Any], chance: random.Random
) -> tuple[str, str] | None:
    drawn = (source.draw(chance) for _ in range(TRIES))
    return next((pair for pair in drawn if frozenset(pair) not in known), None)


def read_kinds(path: Path) -> tuple[Kinds, bool]:
    """What a JSON file says to draw, and whether its pairs are symmetric."""
    given = json.loads(path.read_text(encoding="utf-8"))
    words = dict(given["words"])
    if "shared_words" in given:
        shared = path.with_name(given["shared_words"])
        words = {**json.loads(shared.read_text(encoding="utf-8")), **words}
    kinds = {
        kind: {
            label: (part["count"], [_source(each, words) for each in part["sources"]])
            for label, part in labels.items()
        }
        for kind, labels in given["kinds"].items()
    }
    return kinds, given["symmetric"]


def _source(given: Any, words: Mapping[str, Sequence[Any]]) -> Source:
    if isinstance(given, list):
        first, second, slots = given
        return Frame(first, second, {name: _pool(pool, words) for name, pool in slots.items()})
    made, named = (Edited, "edited") if "edited" in given else (Asked, "asked")
    low, high = given["sizes"]
    return made(words[given[named]], given["column"], (low, high), given["joint"])


def _pool(given: Any, words: Mapping[str, Sequence[Any]]) -> Sequence[Any] | Two:
    if isinstance(given, dict):
        return Two(_entries(given["two"], words))
    return _entries(given, words)


def _entries(given: str | Sequence[Any], words: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
    return words[given] if isinstance(given, str) else given


def all_probes() -> dict[str, list[Probe]]:
    """The probes of every matcher that has frames."""
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        if not path.stem.startswith("words-"):
            kinds, symmetric = read_kinds(path)
            found[path.stem] = draw_probes(kinds, symmetric=symmetric)
    return found


def to_tsv(probes: list[Probe]) -> str:
    """A table with a header."""
    rows = [COLUMNS, *((each.sentence1, each.sentence2, each.label, each.kind) for each in probes)]
    return "".join("\t".join(row) + "\n" for row in rows)


def main() -> None:
    """Write one file per model."""
    for name, probes in all_probes().items():
        write_text(FOLDER / f"{name}.tsv", to_tsv(probes))
        print(f"{name}: {len(probes)} probes")


if __name__ == "__main__":
    main()
