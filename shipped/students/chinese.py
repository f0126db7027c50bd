r"""Chinese lessons: texts, what SimBERT writes like them, and the vectors of two teachers.

    PYTHONPATH=shipped python -m students.chinese --texts texts_zh.txt.xz \
        --judged judged_zh.json.xz --simbert chinese_simbert_L-4_H-312_A-12 --use RESOURCES \
        --output zh --seconds 120

Writes the folder of lessons with `simbert.npy` and `use.npy` in it, to be joined by `teach.py`.
SimBERT's vector is its pooler's, before the tanh. Short texts come first as what is written like:
of questions it writes questions, of long sentences little that anybody would say. Nothing is kept
that stands in a set or an FAQ that is reported.
"""

import argparse
import json
import lzma
import random
import time
from pathlib import Path

import numpy as np
import torch
from measured_faqs import is_measured
from multilingual_use import MultilingualUse
from simbert_questions import SimBert
from torch.nn import functional as F

from softquery.data import Tokens
from softquery.files import open_text
from students.lessons import Lessons, write_lessons

FEWEST, MOST = 4, 16
"""Characters of a text that others are written like."""
WRITTEN = 6_144
"""Texts that are written at a time."""
TOKENS = 131_072
BLOCK = 200_000
NOTHING = "。"
"""Stands for a text without a token, of which USE has no vector."""


def written_like(
    simbert: SimBert, texts: list[str], held_out: set[str], seconds: float
) -> tuple[list[str], list[int]]:
    """New texts, and the number of the text that each was written like."""
    places = [place for place, text in enumerate(texts) if FEWEST <= len(text) <= MOST]
    places.sort(key=lambda place: len(texts[place]))
    size = WRITTEN if simbert.device == "cuda" else 32
    blocks = [places[start : start + size] for start in range(0, len(places), size)]
    random.Random(3).shuffle(blocks)
    known, found, owners, began = set(texts), [], [], time.monotonic()
    for number in range(10 * len(blocks)):
        if time.monotonic() - began > seconds:
            break
        block = blocks[number % len(blocks)]
        with torch.autocast(simbert.device, torch.float16, enabled=simbert.device == "cuda"):
            drawn = simbert.write([texts[p] for p in block], top_k=30, top_p=0.95, seed=number)
        for place, text in zip(block, map(str.strip, drawn), strict=True):
            is_new = len(text) >= FEWEST and text not in known and not is_measured(text)
            if is_new and "".join(text.split()) not in held_out:
                known.add(text)
                found.append(text)
                owners.append(place)
    return found, owners


@torch.inference_mode()
def simbert_vectors(simbert: SimBert, lessons: Lessons) -> np.ndarray:
    """The pooler's vectors of all lessons, of length one."""
    start, end = (lessons.pieces.index(mark) for mark in ("[CLS]", "[SEP]"))
    device = lessons.ids.device
    every = torch.arange(lessons.first["end"], device=device)
    order = torch.argsort(lessons.lengths(every), descending=True, stable=True)
    found = torch.empty(len(order), simbert.bert.output_size, dtype=torch.float16, device=device)
    done, most = 0, TOKENS if simbert.device == "cuda" else TOKENS // 16
    while done < len(order):
        longest = int(lessons.lengths(order[done : done + 1])) + 2
        rows = order[done : done + max(1, most // longest)]
        done += len(rows)
        lengths = lessons.lengths(rows)
        ids = F.pad(lessons.batch(rows, longest - 2).ids, (1, 1))
        ids[:, 0] = start
        ids[torch.arange(len(rows), device=device), lengths + 1] = end
        mask = torch.arange(longest, device=device) < (lengths + 2)[:, None]
        with torch.autocast(simbert.device, torch.float16, enabled=simbert.device == "cuda"):
            first = simbert.bert.encode(Tokens(ids, mask)).states[:, 0]
            pooled = simbert.bert.pooler(first)  # type: ignore[misc]
        found[rows] = F.normalize(pooled.float(), dim=-1).half()
    return found.cpu().numpy()


def main() -> None:
    """Write lessons and both teachers' vectors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("texts", "judged", "simbert", "use", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long SimBERT writes")
    parser.add_argument("--processes", type=int, default=15)
    options = parser.parse_args()
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {line}", flush=True)

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with open_text(options.texts) as lines:
        texts = list(dict.fromkeys(line for line in lines if line.strip()))
    with lzma.open(options.judged, "rt", encoding="utf-8") as file:
        judged = json.load(file)
    held_out = {*judged.pop("held_out"), *("".join(text.split()) for text in judged["texts"])}
    simbert = SimBert(options.simbert, device)
    made, owners = written_like(simbert, texts, held_out, options.seconds)
    say(f"{len(made):,} texts written like {len(set(owners)):,} of {len(texts):,}")
    options.output.mkdir(parents=True, exist_ok=True)
    tokenizer = options.output / "tokenizer.json"
    simbert.pipeline.tokenizer.save(str(tokenizer))
    parts = {"texts": texts, "made": made, "judged": judged.pop("texts")}
    write_lessons(
        options.output, parts, owners=owners, tokenizer=tokenizer, judged=judged,
        processes=options.processes,
    )  # fmt: skip
    with lzma.open(options.output / "made.txt.xz", "wt", encoding="utf-8", preset=1) as file:
        file.writelines(f"{text}\n" for text in made)
    lessons = Lessons.read(options.output, device)
    np.save(options.output / "simbert.npy", simbert_vectors(simbert, lessons))
    say("SimBERT's vectors")
    use = MultilingualUse(options.use, device)
    bare = [piece.removeprefix("##") for piece in lessons.pieces]
    every = [*parts["texts"], *parts["made"], *bare, *parts["judged"]]
    every = [text if text.strip() else NOTHING for text in every]
    blocks = [every[start : start + BLOCK] for start in range(0, len(every), BLOCK)]
    found = np.concatenate([use.encode(block).astype(np.float16) for block in blocks])
    if not np.isfinite(found).all():
        raise SystemExit("USE gave a vector that is no number")
    np.save(options.output / "use.npy", found)
    say("USE's vectors")


if __name__ == "__main__":
    main()
