r"""English lessons: texts, as ids of sub-words.

    PYTHONPATH=shipped python -m students.english --texts texts_en.txt.xz --asked asked_en.txt.xz \
        --judged judged_en.json.xz --tokenizer minilm-8bit/tokenizer.json --output en

`--asked` names questions made by rule, of which a student may learn a share. What `varied.py` makes
of the texts comes after this.
"""

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from pathlib import Path

from softquery.files import open_text
from students.lessons import write_lessons


def main() -> None:
    """Cut the texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--asked", type=Path, nargs="*", default=[])
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=15)
    options = parser.parse_args()
    start = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    texts, asked = (list(lines_of(paths)) for paths in (options.texts, options.asked))
    with lzma.open(options.judged, "rt", encoding="utf-8") as file:
        judged = json.load(file)
    held_out = judged.pop("held_out")
    (options.output / "held_out.json").write_text(json.dumps(held_out), encoding="utf-8")
    write_lessons(
        options.output,
        {"texts": texts, "asked": asked, "judged": judged.pop("texts")},
        owners=[],
        tokenizer=options.tokenizer,
        judged=judged,
        processes=options.processes,
    )
    told = f"{len(texts):,} texts and {len(asked):,} questions made by rule"
    print(f"{options.output}: {told} in {time.monotonic() - start:.0f} s", flush=True)


def lines_of(paths: list[Path]) -> Iterator[str]:
    """The lines of text files that hold something."""
    for path in paths:
        with open_text(path) as lines:
            yield from (line for line in lines if line.strip())


if __name__ == "__main__":
    main()
