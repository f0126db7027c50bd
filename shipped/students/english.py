r"""English lessons: texts, as ids of sub-words.

    PYTHONPATH=shipped python -m students.english --texts texts_en.txt.xz \
        --judged judged_en.json.xz --tokenizer minilm-8bit/tokenizer.json --output en

Nothing is made of the texts.
"""

import argparse
import json
import lzma
import time
from pathlib import Path

from softquery.files import open_text
from students.lessons import write_lessons


def main() -> None:
    """Cut the texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=15)
    options = parser.parse_args()
    start = time.monotonic()
    with open_text(options.texts) as lines:
        texts = [line for line in lines if line.strip()]
    with lzma.open(options.judged, "rt", encoding="utf-8") as file:
        judged = json.load(file)
    write_lessons(
        options.output,
        {"texts": texts, "made": [], "judged": judged.pop("texts")},
        owners=[],
        tokenizer=options.tokenizer,
        judged=judged,
        processes=options.processes,
    )
    print(f"{options.output}: {len(texts):,} texts in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
