"""Draw a session in a terminal: an FAQ is indexed and asked; what is shown is what was printed.

python docs/figures/terminal.py --output docs/figures/terminal.svg
python docs/figures/terminal.py --language zh_CN --output docs/figures/terminal-zh.svg
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

COMMANDS = {
    "en": (
        ("softquery index softquery-demo/faq.csv --output faq.sq", 3),
        ('softquery search faq.sq "I forgot my password, what now?"', 9),
        ('softquery search faq.sq "How tall is the Eiffel tower?"', 6),
    ),
    "zh_CN": (
        ("softquery index softquery-demo/faq-zh.csv --output faq-zh.sq", 3),
        ('softquery search faq-zh.sq "忘记密码了怎么办"', 7),
        ('softquery search faq-zh.sq "长城有多长？"', 6),
    ),
}
"""What is typed, and how many rows of the answer are shown; an ellipsis stands for the rest."""
TOLD = {
    "en": "A terminal: softquery indexes an FAQ, answers a question, and finds none to another.",
    "zh_CN": "终端：softquery 为一份 FAQ 建立索引，回答一个问题，另一个问题没有合适的答案。",
}
WIDTH = 84
COLUMN, ROW, EDGE, BAR = 8.4, 19, 20, 34
GROUND, FRAME, TEXT, PROMPT, TYPED = "#1b1f27", "#2b303b", "#c9d1d9", "#7ee787", "#ffffff"
DOTS = ("#ff5f57", "#febc2e", "#28c840")
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def softquery(command: str, folder: str, language: str) -> str:
    """What a command prints, in one colour and on a narrow terminal."""
    words = command.split('"')
    parts = [
        part for place, word in enumerate(words) for part in ([word] if place % 2 else word.split())
    ]
    plain = {"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1", "SOFTQUERY_LANG": language}
    asked = [sys.executable, "-m", *parts]
    done = subprocess.run(
        asked, cwd=folder, env={**os.environ, **plain}, text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def session(language: str) -> Iterator[tuple[str, str]]:
    """The rows of the screen: what was typed, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        softquery("softquery demo --samples", folder, language)
        for command, most_rows in COMMANDS[language]:
            yield "typed", command
            printed = softquery(command, folder, language).splitlines()
            rows = [part for row in printed for part in screen_rows(row)]
            for row in rows[:most_rows]:
                yield "printed", row
            if len(rows) > most_rows:
                yield "printed", "…"
            yield "printed", ""


def columns(text: str) -> int:
    """How many columns of the screen a text takes: two for a Chinese character."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def screen_rows(row: str) -> list[str]:
    """A printed line in parts that are no wider than the screen."""
    parts = [""]
    for letter in row:
        if columns(parts[-1] + letter) > WIDTH:
            parts.append("")
        parts[-1] += letter
    return parts if row else []


def drawn(rows: list[tuple[str, str]], told: str) -> str:
    """The screen as SVG."""
    width, height = round(2 * EDGE + COLUMN * WIDTH), BAR + EDGE + ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{told}" font-family="{FONT}" font-size="14">',
        f'<rect width="{width}" height="{height}" rx="10" fill="{GROUND}"/>',
        f'<path d="M0 10a10 10 0 0 1 10-10h{width - 20}a10 10 0 0 1 10 10v18H0z" fill="{FRAME}"/>',
        *(
            f'<circle cx="{20 + 20 * place}" cy="14" r="6" fill="{colour}"/>'
            for place, colour in enumerate(DOTS)
        ),
    ]
    for number, (kind, row) in enumerate(rows):
        top = BAR + EDGE + ROW * number
        if kind == "typed":
            parts += [line("$", EDGE, top, PROMPT), line(row, EDGE + 2 * COLUMN, top, TYPED)]
        elif row.strip():
            parts.append(line(row, EDGE, top, TEXT))
    return "\n".join([*parts, "</svg>", ""])


def line(row: str, left: float, top: float, colour: str) -> str:
    """One row of text, as wide as its columns whatever the font; Chinese runs by themselves."""
    parts = []
    for _, letters in groupby(row, columns):
        run = "".join(letters)
        width = columns(run) * COLUMN
        if run.strip():
            parts.append(
                f'<text x="{left:.1f}" y="{top}" fill="{colour}" textLength="{width:.1f}" '
                f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(run)}</text>'
            )
        left += width
    return "\n".join(parts)


def main() -> None:
    """Run the commands on the sample files, and draw what they print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--language", choices=tuple(COMMANDS), default="en")
    asked = parser.parse_args()
    screen = drawn(list(session(asked.language)), TOLD[asked.language])
    asked.output.write_text(screen, encoding="utf-8")


if __name__ == "__main__":
    main()
