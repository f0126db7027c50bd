"""Code blocks of a Markdown page, and what the page says about running them.

- A `python` block is a doctest; the blocks of one page share their names, as one session would.
- A `sh` block with prompts is a session: what follows `$ softquery …` is what it prints, where
  `...` stands for anything. Without prompts it only shows what to type.
- A block with `title="NAME"` is a file of that name, which later blocks of the page can read.
- `<!-- not run: REASON -->` on the line above a block exempts it.
"""

import re
import shlex
import textwrap
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*)[ ]*(?P<options>.*)$")
TITLE = re.compile(r'title="(?P<title>[^"]+)"')
SETTING = re.compile(r"[A-Z][A-Z_]*=.*")
EXEMPTION = re.compile(r"<!--\s*not run:(?P<reason>.*?)-->")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One fenced block."""

    line: int
    """Where its first line of code stands, counted from 1."""
    language: str
    title: str | None
    code: str
    exemption: str | None
    """Why it is not run, where it is not."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One line of a shell block, with the output that is shown for it."""

    text: str
    output: str | None
    """None where the block has no prompts and thus shows no output."""

    @property
    def words(self) -> list[str]:
        """The command; what is set for it alone is left out."""
        return list(dropwhile(SETTING.fullmatch, self._all_words))

    @property
    def environment(self) -> dict[str, str]:
        """What is set before the command, such as `NAME=value softquery …`."""
        settings = takewhile(SETTING.fullmatch, self._all_words)
        return dict(word.split("=", 1) for word in settings)

    @property
    def _all_words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def examples(path: Path) -> list[Example]:
    """Every fenced block of a page, in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = []
    place = 0
    while place < len(lines):
        fence = FENCE.match(lines[place])
        if fence is None:
            place += 1
            continue
        body = list(takewhile(lambda line: line.strip() != "```", lines[place + 1 :]))
        title = TITLE.search(fence["options"])
        found.append(
            Example(
                line=place + 2,
                language=fence["language"],
                title=title and title["title"],
                code=textwrap.dedent("\n".join(body)) + "\n",
                exemption=_exemption(lines[:place]),
            )
        )
        place += len(body) + 2
    return found


def _exemption(before: list[str]) -> str | None:
    above = next((line for line in reversed(before) if line.strip()), "")
    found = EXEMPTION.search(above)
    return found and found["reason"].strip()


def commands(code: str) -> list[Command]:
    """The commands of a shell block; a line that ends in a backslash goes on in the next."""
    lines = code.replace("\\\n", " ").splitlines()
    if not any(line.startswith("$ ") for line in lines):
        plain = [line.strip() for line in lines]
        return [
            Command(text=line, output=None) for line in plain if line and not line.startswith("#")
        ]
    starts = [place for place, line in enumerate(lines) if line.startswith("$ ")]
    return [
        Command(text=lines[start][2:], output="\n".join(lines[start + 1 : end]) + "\n")
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]
