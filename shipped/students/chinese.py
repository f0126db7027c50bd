r"""Chinese lessons: texts, what SimBERT writes like them, and the vectors of two teachers.

    PYTHONPATH=shipped python -m students.chinese write --texts texts_zh.txt.xz \
        --judged judged_zh.json.xz --simbert SIMBERT --output made.tsv.xz --seconds 60
    PYTHONPATH=shipped python -m students.chinese pieces --texts texts_zh.txt.xz \
        --made made.tsv.xz --output pieces.json --size 24000
    PYTHONPATH=shipped python -m students.chinese lessons --texts texts_zh.txt.xz \
        --made made.tsv.xz --judged judged_zh.json.xz --simbert SIMBERT --pieces pieces.json \
        --output zh
    PYTHONPATH=shipped python -m students.chinese vectors --lessons zh --simbert SIMBERT \
        --use RESOURCES

`write` lets SimBERT write like short texts, then like what it wrote: of questions it writes
questions, of long sentences little that anybody would say. Nothing is kept that stands in a set or
an FAQ that is reported. `pieces` learns sub-words of several characters; a student reads them, or
SimBERT's own, which are characters. `lessons` cuts all texts, in Simplified characters, and
`vectors` adds `simbert.npy`, its pooler's vectors before the tanh, and `use.npy`, to be joined by
`teach.py`.
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
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from torch.nn import functional as F

from softquery.data import Tokens
from softquery.files import open_text
from softquery.text import UNK, TextConfig, build_pipeline, reserved_tokens
from softquery.text.segmentation import CJK, simplified
from students.lessons import Lessons, bare_piece, pieces_of, write_lessons

FEWEST, MOST = 4, 16
"""Characters of a text that others are written like."""
WRITTEN = 6_144
"""Texts that are written at a time."""
TOKENS = 131_072
BLOCK = 200_000
NOTHING = "。"
"""Stands for a text without a token, of which USE has no vector."""
FIRST = "simbert"
"""The folder, within that of the lessons, of the same texts as SimBERT cuts them."""
MOST_CHARACTERS = 6
"""Of a sub-word."""
LEARNT_FROM = 400_000
"""Texts of people, and as many that were written, that sub-words are learnt from."""


def read_texts(path: Path) -> list[str]:
    """The lines of a file in Simplified characters, each once."""
    with open_text(path) as lines:
        return list(dict.fromkeys(simplified(line) for line in lines if line.strip()))


def read_made(path: Path) -> tuple[list[str], list[int]]:
    """Written texts, and the number of the text that each comes from."""
    with open_text(path) as lines:
        rows = [line.rsplit("\t", 1) for line in lines]
    return [text for text, _ in rows], [int(owner) for _, owner in rows]


def written_like(
    simbert: SimBert, texts: list[str], held_out: set[str], seconds: float
) -> tuple[list[str], list[int]]:
    """New texts, and the number of the text that each was written like, be it at second hand."""
    pool = [(text, place) for place, text in enumerate(texts) if FEWEST <= len(text) <= MOST]
    known, found, began, number = set(texts), list[tuple[str, int]](), time.monotonic(), 0
    size = WRITTEN if simbert.device == "cuda" else 32
    while pool:
        pool.sort(key=lambda each: len(each[0]))
        blocks = [pool[start : start + size] for start in range(0, len(pool), size)]
        random.Random(3).shuffle(blocks)
        pool = []
        for block in blocks:
            if time.monotonic() - began > seconds:
                return [text for text, _ in found], [owner for _, owner in found]
            with torch.autocast(simbert.device, torch.float16, enabled=simbert.device == "cuda"):
                drawn = simbert.write([t for t, _ in block], top_k=30, top_p=0.95, seed=number)
            number += 1
            for (_, owner), written in zip(block, drawn, strict=True):
                text = simplified(" ".join(written.split()))
                is_new = len(text) >= FEWEST and text not in known and not is_measured(text)
                if is_new and "".join(text.split()) not in held_out:
                    known.add(text)
                    found.append((text, owner))
                    pool.append((text, owner))
    return [text for text, _ in found], [owner for _, owner in found]


def write(options: argparse.Namespace) -> None:
    """Let SimBERT write."""
    texts = read_texts(options.texts)
    judged = read_judged(options.judged)
    held_out = {*judged["held_out"], *("".join(text.split()) for text in judged["texts"])}
    simbert = SimBert(options.simbert, "cuda" if torch.cuda.is_available() else "cpu")
    made, owners = written_like(simbert, texts, held_out, options.seconds)
    with lzma.open(options.output, "wt", encoding="utf-8", preset=1) as file:
        file.writelines(f"{text}\t{owner}\n" for text, owner in zip(made, owners, strict=True))
    print(f"{len(made):,} texts written like {len(set(owners)):,} of {len(texts):,}", flush=True)


def learn_pieces(options: argparse.Namespace) -> None:
    """Learn sub-words of several characters from texts and what was written."""
    texts, (made, _) = read_texts(options.texts), read_made(options.made)
    chosen = random.Random(5).sample(texts, min(LEARNT_FROM, len(texts)))
    chosen += random.Random(5).sample(made, min(LEARNT_FROM, len(made)))
    config = TextConfig(unit="bpe", strip_accents=True, simplify=True)
    tokenizer = build_pipeline(chosen[:1], config).tokenizer
    learner = Tokenizer(models.BPE(unk_token=UNK))
    learner.normalizer = tokenizer.normalizer
    # Chinese words are the same at the beginning of a text as within it.
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [tokenizer.pre_tokenizer, pre_tokenizers.Split(Regex(f"[{CJK}]++"), "isolated")]
    )
    reserved = list(reserved_tokens(config.unit))
    trainer = trainers.BpeTrainer(
        vocab_size=options.size, min_frequency=5, special_tokens=reserved, show_progress=False,
        max_token_length=MOST_CHARACTERS,
    )  # fmt: skip
    learner.train_from_iterator(chosen, trainer)
    tokenizer.model = learner.model
    tokenizer.save(str(options.output))
    print(f"{options.output}: {tokenizer.get_vocab_size():,} sub-words", flush=True)


def lessons(options: argparse.Namespace) -> None:
    """Cut everything, as a student reads it and as SimBERT does."""
    texts, (made, owners) = read_texts(options.texts), read_made(options.made)
    judged = read_judged(options.judged)
    del judged["held_out"]
    options.output.mkdir(parents=True, exist_ok=True)
    own = options.output / "simbert.json"
    SimBert(options.simbert, "cpu").pipeline.tokenizer.save(str(own))
    pieces = [bare_piece(piece) for piece in pieces_of(options.pieces or own)]
    asked = [simplified(text) for text in judged.pop("texts")]
    parts = {"texts": texts, "made": made, "pieces": pieces, "judged": asked}
    for folder, tokenizer in (
        (options.output, options.pieces or own),
        (options.output / FIRST, own),
    ):
        write_lessons(folder, parts, owners=owners, tokenizer=tokenizer, judged=judged,
                      processes=options.processes)  # fmt: skip
    every = [*texts, *made, *pieces, *asked]
    (options.output / "every.json").write_text(json.dumps(every), encoding="utf-8")
    print(f"{options.output}: {len(texts):,} texts, {len(made):,} written", flush=True)


def vectors(options: argparse.Namespace) -> None:
    """What both teachers see."""
    device, began = "cuda" if torch.cuda.is_available() else "cpu", time.monotonic()
    if options.simbert:
        simbert = SimBert(options.simbert, device)
        found = simbert_vectors(simbert, Lessons.read(options.lessons / FIRST, device))
        np.save(options.lessons / "simbert.npy", found)
        print(f"SimBERT's vectors: {time.monotonic() - began:.0f} s", flush=True)
    if options.use:
        use = MultilingualUse(options.use, device)
        every = json.loads((options.lessons / "every.json").read_text(encoding="utf-8"))
        every = [text if text.strip() else NOTHING for text in every]
        blocks = [every[start : start + BLOCK] for start in range(0, len(every), BLOCK)]
        found = np.concatenate([use.encode(block).astype(np.float16) for block in blocks])
        if not np.isfinite(found).all():
            raise SystemExit("USE gave a vector that is no number")
        np.save(options.lessons / "use.npy", found)
        print(f"USE's vectors: {time.monotonic() - began:.0f} s", flush=True)


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


def read_judged(path: Path) -> dict:
    """What `judged_sets.py` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return dict(json.load(file))


def main() -> None:
    """Write, learn sub-words, cut, or ask the teachers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    acts = {
        "write": (write, ("texts", "judged", "simbert", "output")),
        "pieces": (learn_pieces, ("texts", "made", "output")),
        "lessons": (lessons, ("texts", "made", "judged", "simbert", "output")),
        "vectors": (vectors, ("lessons",)),
    }
    for verb, (act, names) in acts.items():
        own = verbs.add_parser(verb)
        own.set_defaults(act=act)
        for name in names:
            own.add_argument(f"--{name}", type=Path, required=True)
    verbs.choices["write"].add_argument("--seconds", type=float, default=60.0)
    verbs.choices["pieces"].add_argument("--size", type=int, default=24_000)
    verbs.choices["lessons"].add_argument("--pieces", type=Path, help="default: SimBERT's")
    verbs.choices["lessons"].add_argument("--processes", type=int, default=15)
    verbs.choices["vectors"].add_argument("--simbert", type=Path)
    verbs.choices["vectors"].add_argument("--use", type=Path)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
