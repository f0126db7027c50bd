r"""Gather German sentences with their English from several sets into one folder to train from.

    python shipped/gather_translations.py --sets tatoeba,multi30k,ted --from DATA/seq2seq \
        --output prepared/translate-de-en

writes `train.tsv`, `dev.tsv` (of Tatoeba, new on both sides), `dev_SET.tsv` of the other sets, and
`facts.json` with rows and licences for the model card. What stands in a dev set, on either side, is
left out of training.
"""

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from softquery.files import Row, open_text, read_aligned, read_rows

SEED = 1
NOT_WORDS = re.compile(r"[\W_]+")
Pair = tuple[str, str]
"""German, English."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Set:
    """One set of sentence pairs."""

    licence: str
    note: str
    read: Callable[[Path, int], tuple[list[Pair], list[Pair]]]
    """From the folder of all sets and the dev rows that are wanted to train and dev."""


def normal(text: str) -> str:
    """A sentence without case, spacing and punctuation.

    >>> normal("Was ist los ?")
    'wasistlos'
    """
    return NOT_WORDS.sub("", text.lower()) or text


def tatoeba(folder: Path, num_dev: int) -> tuple[list[Pair], list[Pair]]:
    """Unsplit, English first, many sentences repeated: dev is new in both languages."""
    with open_text(folder / "tatoeba_deu_eng" / "all.txt.xz") as lines:
        parts = (line.split("\t") for line in lines if line)
        pairs = sorted({(other.strip(), english.strip()) for english, other, *_ in parts})
    groups = sorted({normal(german) for german, _ in pairs})
    random.Random(SEED).shuffle(groups)
    held = set(groups[:num_dev])
    dev = [pair for pair in pairs if normal(pair[0]) in held]
    return [pair for pair in pairs if normal(pair[0]) not in held], dev


def multi30k(folder: Path, num_dev: int) -> tuple[list[Pair], list[Pair]]:
    """Captions, with a split of their own."""
    train, dev = (
        [_sides(row) for row in read_aligned(folder / "multi30k", split, ("de", "en"))[0]]
        for split in ("train", "val")
    )
    return train, dev


def ted(folder: Path, num_dev: int) -> tuple[list[Pair], list[Pair]]:
    """Talks, with a split of their own."""
    names = {"source": "de", "target": "en"}
    train, dev = (
        [_sides(row) for row in read_rows(path, columns=tuple(names), rename=names)]
        for path in (folder / "ted_de_en" / f"{split}.tsv.xz" for split in ("train", "dev"))
    )
    return train, dev


SETS = {
    "tatoeba": Set(licence="CC BY 2.0", note="short sentences, tatoeba.org", read=tatoeba),
    "multi30k": Set(licence="research", note="captions of pictures", read=multi30k),
    "ted": Set(licence="research", note="subtitles of talks", read=ted),
}
FREE = "cc-by-2.0"
RESEARCH = "research only"


def gather(folder: Path, names: Iterable[str], output: Path, num_dev: int) -> None:
    """Read, leave out what dev knows, and write."""
    read = {name: SETS[name].read(folder, num_dev) for name in names}
    known = {normal(side) for _, dev in read.values() for pair in dev for side in pair}
    output.mkdir(parents=True, exist_ok=True)
    facts, train = [], []
    for name, (pairs, dev) in read.items():
        kept = [pair for pair in pairs if not known & {normal(side) for side in pair}]
        train += kept
        _write(output / ("dev.tsv" if name == "tatoeba" else f"dev_{name}.tsv"), dev)
        facts.append({"name": name, "rows": len(kept), "licence": SETS[name].licence,
                      "note": SETS[name].note})  # fmt: skip
        print(f"{name}: {len(kept):,} of {len(pairs):,} to train on, {len(dev):,} for dev")
    random.Random(SEED).shuffle(train)
    _write(output / "train.tsv", train)
    is_free = not any(SETS[name].licence == "research" for name in read)
    found = {"licence": FREE if is_free else RESEARCH, "data": facts}
    (output / "facts.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _sides(row: Row) -> Pair:
    return row.values["source"], row.values["target"]


def _write(path: Path, pairs: Iterable[Pair]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("source\ttarget\n")
        file.writelines("\t".join(_one_line(side) for side in pair) + "\n" for pair in pairs)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    """Read the command line and act."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas between them")
    parser.add_argument("--from", dest="folder", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--dev", type=int, default=1500, help="German sentences of Tatoeba's dev")
    options = parser.parse_args()
    gather(options.folder, options.sets.split(","), options.output, options.dev)


if __name__ == "__main__":
    main()
