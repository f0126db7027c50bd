r"""Write lists of opposites, synonyms and broader nouns from WordNet's database files.

    python shipped/wordnet_lists.py --wordnet /usr/share/wordnet --output shipped/words

reads `data.*`, `index.*` and `cntlist.rev` as the Debian package `wordnet-base` installs them, and
writes `antonyms_en.tsv`, `synonyms_en.tsv` and `hypernyms_en.tsv`. Only words that WordNet's own
corpus counts often are taken, and only in the sense that most of those counts belong to: a rule
that edits texts does not know which sense is meant. `left_out_en.tsv` names what a person struck
out after reading the lists.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from softquery.files import write_text

PARTS = {"noun": "1", "verb": "2", "adj": "3", "adv": "4"}
SATELLITE = "5"
"""How sense keys number an adjective that is near another one; it counts as an adjective."""
FEWEST = {"antonyms": 1, "synonyms": 5, "hypernyms": 1, "persons": 5}
"""How often the corpus must have a word."""
SHARE = {"antonyms": 0.25, "synonyms": 0.75, "hypernyms": 0.6}
"""The share of those counts that the sense must have."""
CONCRETE = {"05", "06", "08", "13", "15", "18", "20", "27"}
"""Files of nouns: animal, artifact, body, food, location, person, plant, substance."""
BROAD = {
    "aircraft", "animal", "artist", "athlete", "beverage", "bird", "boat", "bread", "building",
    "car", "chair", "clothing", "container", "dog", "fabric", "fish",
    "flower", "food", "furniture", "hat", "horse", "insect", "machine",
    "meal", "meat", "metal", "musician", "person", "restaurant", "road",
    "room", "scientist", "ship", "shoe", "snake", "soldier", "teacher", "tool", "tree",
    "vegetable", "vehicle", "weapon", "wine", "writer",
}  # fmt: skip
"""Nouns that people use for a kind of thing."""

Row = tuple[str, str, str]


@dataclass
class Synset:
    """Words of one sense, with what points away from it."""

    words: list[str]
    file: str
    opposites: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of words, each of one synset."""
    broader: list[str] = field(default_factory=list)
    """Offsets."""


class Part:
    """One part of speech of WordNet."""

    def __init__(self, folder: Path, part: str, counts: dict[tuple[str, str], dict[int, int]]):
        self.part = part
        self.senses = dict(read_index(folder / f"index.{part}"))
        self.counts = {word: by for (word, number), by in counts.items() if number == PARTS[part]}
        self.synsets = read_synsets(folder / f"data.{part}")

    def total(self, word: str) -> int:
        """How often the corpus has a word as this part of speech."""
        return sum(self.counts.get(word, {}).values())

    def is_main(self, word: str, offset: str, kind: str) -> bool:
        """Whether the word is frequent and mostly means this synset."""
        total, senses = self.total(word), self.senses.get(word, [])
        if not word.isalpha() or not word.islower() or total < FEWEST[kind]:
            return False
        return offset in senses and self.share(word, senses.index(offset) + 1) >= SHARE[kind]

    def share(self, word: str, sense: int) -> float:
        """The share of a sense, counted from one, in the word's counts."""
        return self.counts[word].get(sense, 0) / self.total(word)


def read_counts(path: Path) -> dict[tuple[str, str], dict[int, int]]:
    """Word and part of speech to sense number to count."""
    found: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        key, sense, count = line.split()
        word, rest = key.split("%")
        part = PARTS["adj"] if rest[0] == SATELLITE else rest[0]
        found[word, part][int(sense)] = int(count)
    return found


def lines_of(path: Path) -> Iterator[list[str]]:
    """The fields of each line below the licence."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("  "):
            yield line.split()


def read_index(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each word with the offsets of its senses, commonest first."""
    for fields in lines_of(path):
        yield fields[0], fields[-int(fields[2]) :]


def read_synsets(path: Path) -> dict[str, Synset]:
    """Offset to synset, with opposites resolved to words."""
    rows = {fields[0]: fields for fields in lines_of(path)}
    found = {offset: Synset(words_of(fields), fields[1]) for offset, fields in rows.items()}
    for offset, fields in rows.items():
        start = 5 + 2 * len(found[offset].words)
        for place in range(int(fields[start - 1])):
            symbol, target, _, which = fields[start + 4 * place : start + 4 * place + 4]
            if symbol == "!" and target in found and int(which[:2], 16):
                own, other = int(which[:2], 16) - 1, int(which[2:], 16) - 1
                pair = (found[offset].words[own], found[target].words[other])
                found[offset].opposites.append(pair)
            elif symbol == "@":
                found[offset].broader.append(target)
    return found


def words_of(fields: list[str]) -> list[str]:
    """The words of a synset, without the syntactic marks of adjectives."""
    return [word.split("(")[0] for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]


def antonyms(part: Part) -> Iterator[Row]:
    """Frequent words of opposite sense."""
    for offset, synset in part.synsets.items():
        for word, other in synset.opposites:
            homes = part.senses.get(other, [])
            there = next(
                (home for home in homes if (other, word) in part.synsets[home].opposites), ""
            )
            if part.is_main(word, offset, "antonyms") and part.is_main(other, there, "antonyms"):
                yield (*sorted((word, other)), part.part)


def synonyms(part: Part) -> Iterator[Row]:
    """Frequent words that mean one thing, and the same one."""
    for offset, synset in part.synsets.items():
        words = [word for word in synset.words if part.is_main(word, offset, "synonyms")]
        for place, word in enumerate(words):
            for other in words[place + 1 :]:
                yield (*sorted((word, other)), part.part)


def hypernyms(part: Part) -> Iterator[Row]:
    """Concrete nouns, each with the next broader one that people use."""
    for offset, synset in part.synsets.items():
        if synset.file not in CONCRETE:
            continue
        for word in synset.words:
            if part.is_main(word, offset, "hypernyms"):
                for broad in broader(part, synset):
                    if broad != "person" or part.total(word) >= FEWEST["persons"]:
                        yield word, broad, part.part


def broader(part: Part, synset: Synset) -> list[str]:
    """The first noun on the way to the root that people use for a kind of thing."""
    while synset.broader:
        offset = synset.broader[0]
        synset = part.synsets[offset]
        words = [word for word in synset.words if word in BROAD]
        if words and part.senses[words[0]][0] == offset:
            return words[:1]
    return []


def without(rows: Iterator[Row], kind: str, left_out: set[tuple[str, str]]) -> list[Row]:
    """Rows in order and once each, but for those with a word, or a pair, that was struck out."""
    return sorted(
        row
        for row in set(rows)
        if not {(kind, row[0]), (kind, row[1]), (kind, f"{row[0]} {row[1]}")} & left_out
    )


def main() -> None:
    """Parse, read and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wordnet", type=Path, required=True, help="a folder of database files")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    counts = read_counts(options.wordnet / "cntlist.rev")
    parts = {name: Part(options.wordnet, name, counts) for name in PARTS}
    struck = (options.output / "left_out_en.tsv").read_text(encoding="utf-8").splitlines()
    left_out = {(kind, word) for kind, word in (line.split("\t") for line in struck)}
    for kind, find, names in (
        ("antonyms", antonyms, ("adj", "adv", "noun", "verb")),
        ("synonyms", synonyms, ("adj", "adv", "noun", "verb")),
        ("hypernyms", hypernyms, ("noun",)),
    ):
        rows = without((row for name in names for row in find(parts[name])), kind, left_out)
        table = "".join("\t".join(row) + "\n" for row in rows)
        write_text(options.output / f"{kind}_en.tsv", table)
        print(f"{kind}: {len(rows):,} rows")


if __name__ == "__main__":
    main()
