"""Draw a session in a terminal: an FAQ is indexed and asked; what is shown is what was printed.

python docs/figures/terminal.py --output docs/figures/terminal.svg
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

COMMANDS = (
    ("softquery index softquery-demo/faq.csv --output faq.sq", 3),
    ('softquery search faq.sq "I forgot my password, what now?"', 9),
    ('softquery search faq.sq "How tall is the Eiffel tower?"', 6),
)
"""What is typed, and how many rows of the answer are shown; an ellipsis stands for the rest."""
WIDTH = 84
COLUMN, ROW, EDGE, BAR = 8.4, 19, 20, 34
GROUND, FRAME, TEXT, PROMPT, TYPED = "#1b1f27", "#2b303b", "#c9d1d9", "#7ee787", "#ffffff"
DOTS = ("#ff5f57", "#febc2e", "#28c840")
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def softquery(command: str, folder: str) -> str:
    """What a command prints, in one colour and on a narrow terminal."""
    words = command.split('"')
    parts = [
        part for place, word in enumerate(words) for part in ([word] if place % 2 else word.split())
    ]
    plain = {"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1", "SOFTQUERY_LANG": "en"}
    asked = [sys.executable, "-m", *parts]
    done = subprocess.run(
        asked, cwd=folder, env={**os.environ, **plain}, text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def session() -> Iterator[tuple[str, str]]:
    """The rows of the screen: what was typed, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        softquery("softquery demo --samples", folder)
        for command, most_rows in COMMANDS:
            yield "typed", command
            printed = softquery(command, folder).splitlines()
            rows = [
                row[start : start + WIDTH] for row in printed for start in range(0, len(row), WIDTH)
            ]
            for row in rows[:most_rows]:
                yield "printed", row
            if len(rows) > most_rows:
                yield "printed", "…"
            yield "printed", ""


def drawn(rows: list[tuple[str, str]]) -> str:
    """The screen as SVG."""
    width, height = round(2 * EDGE + COLUMN * WIDTH), BAR + EDGE + ROW * len(rows)
    told = (
        "A terminal: softquery indexes an FAQ, answers a question, and finds no answer to another."
    )
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
    """One row of text, as wide as its columns whatever the font."""
    wide = f'textLength="{len(row) * COLUMN:.1f}" lengthAdjust="spacingAndGlyphs"'
    place = f'x="{left:.1f}" y="{top}" fill="{colour}"'
    return f'<text {place} {wide} xml:space="preserve">{escape(row)}</text>'


def main() -> None:
    """Run the commands on the sample files, and draw what they print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.parse_args().output.write_text(drawn(list(session())), encoding="utf-8")


if __name__ == "__main__":
    main()
