"""Sentence frames with open slots, from which probes are drawn; equal seeds, equal probes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
