"""What a case of bad input is: the command, what was done to its input, what is said, what is left.

Every case runs in a folder of its own, which holds `data/` with `train.tsv` and `dev.tsv`,
`test.tsv`, and for the verbs that read a model also `model/`, a small bundle. The pages
of `docs/errors` show the same cases as tables.
"""

import json
import lzma
import random
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEADER = b"sentence1\tsentence2\tlabel\n"
ROW = b"a man eats\tsomebody eats\tsame\n"
SOUND = (b"different", b"same")
"""The labels of the sound data."""
JUNK = random.Random(1).randbytes(4096)
BROKEN_XZ = lzma.compress(HEADER + b"".join(b"%d\tb\tsame\n" % n for n in range(9999)))[:2048]
NOTHING = "nothing"
ANY = "…"
"""Stands for any text, where what is said depends on versions of other libraries."""

Damage = Callable[[Path], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of bad input."""

    title: str
    """As the page shows it."""
    command: str
    """Without the word `softquery`; each case of `train` is made small as well."""
    said: str
    """The line, without `softquery: ` before it."""
    damage: Damage = lambda place: None
    left: str = NOTHING
    """What there is afterwards that was not there before, as the page shows it."""
    touched: str = ""
    """A folder that is there afterwards, and in which files may have changed or appeared."""
    needs: frozenset[str] = frozenset()
    """Of `disk` (a small one, at `full/`), `interrupted` (a run, in `model.partial`), `nobody`."""
    answers: str | None = None
    """Where standard output leads, if not to the test."""

    @property
    def verb(self) -> str:
        return self.words[0]

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)

    def __str__(self) -> str:
        return f"{self.verb}: {self.title}"


def table(cases: list[Case]) -> list[tuple[str, str, str]]:
    """The rows of the page."""
    return [(case.title, f"`{case.said}`", case.left) for case in cases]


def markdown(cases: list[Case]) -> str:
    """The table of the page, as `write_error_pages.py` puts it there."""
    rows = [("input", "what softquery says", "what is left"), ("---",) * 3, *table(cases)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def file(name: str, content: bytes | str) -> Damage:
    """Put a file there."""

    def damage(place: Path) -> None:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return damage


def rows(name: str, *lines: bytes) -> Damage:
    """A file of sound rows, with some lines after the first one: the file's third and on."""
    sound = [b"%d men\tsomebody\t%s\n" % (n, SOUND[n % 2]) for n in range(60)]
    return file(name, HEADER + b"".join([sound[0], *lines, *sound[1:]]))


def labelled(name: str, *labels: str) -> Damage:
    """A file of one row a label, sound but for the labels."""
    lines = [b"%d men\tsomebody\t%s\n" % (n, label.encode()) for n, label in enumerate(labels)]
    return file(name, HEADER + b"".join(lines))


def gone(name: str) -> Damage:
    """Take a file away."""
    return lambda place: (place / name).unlink()


def cut(name: str) -> Damage:
    """Leave the first half of a file."""

    def damage(place: Path) -> None:
        content = (place / name).read_bytes()
        (place / name).write_bytes(content[: len(content) // 2])

    return damage


def changed(name: str, *keys: str, to: object) -> Damage:
    """Give a value inside a JSON file another one."""

    def damage(place: Path) -> None:
        data = json.loads((place / name).read_bytes())
        inner = data
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = to
        (place / name).write_text(json.dumps(data), encoding="utf-8")

    return damage


def with_one_more_word(place: Path) -> None:
    """A tokenizer that the model was not trained with."""
    path = place / "model" / "tokenizer.json"
    data = json.loads(path.read_bytes())
    data["model"]["vocab"]["zebra"] = len(data["model"]["vocab"])
    path.write_text(json.dumps(data), encoding="utf-8")


def closed(name: str) -> Damage:
    """Take away every permission."""
    return lambda place: (place / name).chmod(0)


def both(*damages: Damage) -> Damage:
    """One after the other."""
    return lambda place: [damage(place) for damage in damages]
