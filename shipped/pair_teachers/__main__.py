r"""Teach matchers on a large scale: mine pairs, fit a cross-encoder, write its opinion of them.

    PYTHONPATH=src:shipped python -m pair_teachers nli --packed mpnet-8bit --gold train.jsonl \
        --hard hard_nli.jsonl --dev dev.jsonl --output nli
    PYTHONPATH=src:shipped python -m pair_teachers match --packed mpnet-8bit --beside minilm-8bit \
        --gold train.jsonl --texts texts.txt --hard hard_match.jsonl --output match
    softquery distill match/logits.npy --pairs match/pairs.jsonl --labels 0,1 --student match-en \
        --output trained

Encoders are those that `students.teach pack` wrote. `nli` fits its teacher on labelled pairs, and
on some of the hard ones; `match` has no labelled pairs: its teacher learns what the cosine of two
texts says, and from hard pairs what it does not. A hard pair that a sure teacher contradicts is
dropped.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from pair_teachers.cross import CrossEncoder, vectors
from pair_teachers.mining import mine_inferences, mine_same
from pair_teachers.rows import SIDES, Numbered, Row, opened, read_rows, write_taught
from pair_teachers.tokens import TokenTable

NLI = ("entailment", "neutral", "contradiction")
SAME = ("0", "1")
SURE = 0.95
"""A teacher with this probability for another label than the rule's is believed."""
MIDDLE, WIDTH, LEAST, MOST = 0.75, 0.07, -8.0, 5.0
"""Which cosine is neither, how much more is a logit of one, and the limits of logits."""
RULED = {"0": -2.5, "1": 4.0}
"""Logits of hard pairs: another meaning is still nearer than texts that share nothing."""


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say how long a stage took."""
    start = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - start:.0f} s", flush=True)


class Lesson:
    """What both kinds of teacher work with."""

    def __init__(self, options: argparse.Namespace, texts: Numbered) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.options, self.texts = options, texts.texts
        with timed("tokens"):
            named = [folder / "tokenizer.json" for folder in options.packed]
            tokenizer = next(path for path in named if path.exists())
            self.table = TokenTable.of(self.texts, tokenizer, self.device)
        self.report: dict[str, Any] = {"texts": len(self.texts)}

    def vectors_of(self, count: int, folders: list[list[Path]]) -> Tensor:
        """Vectors of the first texts, of several teachers side by side."""
        table = TokenTable(
            self.table.flat, self.table.starts[:count], self.table.lengths[:count],
            self.table.counts[:count],
        )  # fmt: skip
        with timed("vectors"):
            parts = [vectors(each, table, self.device) for each in folders]
            return F.normalize(torch.cat(parts, dim=1), dim=1)

    def fitted(self, pairs: Tensor, targets: Tensor) -> CrossEncoder:
        """A teacher of these pairs."""
        options = self.options
        model = CrossEncoder(options.packed, targets.shape[1], self.device)
        with timed(f"teacher, {len(pairs):,} pairs"):
            model.fit(self.table, pairs, targets, epochs=options.epochs, batch=options.batch,
                      lr=options.lr)  # fmt: skip
        return model

    def write(self, pairs: Tensor, logits: Tensor, labels: list[str] | None) -> None:
        """The pairs with what is learnt of them, and what was found out."""
        with timed(f"{len(pairs):,} pairs written"):
            write_taught(self.options.output, self.texts, pairs, logits, labels)
        self.report["pairs"] = len(pairs)
        found = json.dumps(self.report, indent=1)
        (self.options.output / "teacher.json").write_text(found, encoding="utf-8")
        print(found, flush=True)


def accuracy_by(sources: list[str], right: Tensor) -> dict[str, float]:
    """The mean of each group."""
    named = dict.fromkeys(sources)
    places = {name: [i for i, each in enumerate(sources) if each == name] for name in named}
    return {name: round(float(right[rows].float().mean()), 4) for name, rows in places.items()}


def one_hot(rows: list[Row], labels: Sequence[str] = NLI) -> Tensor:
    """Labels as distributions."""
    places = torch.tensor([labels.index(row["label"]) for row in rows])
    return F.one_hot(places, len(labels)).float()


def teach_nli(options: argparse.Namespace) -> None:
    """From labelled and recombined pairs of the same texts."""
    gold, hard = read_rows(options.gold), shuffled(read_rows(options.hard, options.count))
    dev = read_rows(options.dev)
    known = Numbered(row[side] for row in gold for side in SIDES)
    free = len(known)
    gold_pairs, hard_pairs, dev_pairs = (known.pairs(rows) for rows in (gold, hard, dev))
    lesson = Lesson(options, known)
    found = lesson.vectors_of(free, [options.packed])
    with timed("mining"):
        mined = mine_inferences(found, *gold_pairs.unbind(1))[: options.count]
    del found
    some = len(hard) // 4
    model = lesson.fitted(torch.cat([gold_pairs, hard_pairs[:some]]),
                          one_hot([*gold, *hard[:some]]))  # fmt: skip
    right = model.logits(lesson.table, dev_pairs).argmax(1) == one_hot(dev).argmax(1)
    lesson.report["dev"] = accuracy_by([row["source"] for row in dev], right)
    print(lesson.report, flush=True)
    with timed("opinions"):
        opinions = [model.logits(lesson.table, each) for each in (gold_pairs, mined, hard_pairs)]
    wanted = one_hot(hard)
    kept, agreed = not_contradicted(opinions[2].softmax(1), wanted)
    lesson.report["hard"] = {"kept": int(kept.sum()), "agreement":
                             accuracy_by([row["rule"] for row in hard], agreed)}  # fmt: skip
    mixed = (0.8 * wanted + 0.2 * opinions[2].softmax(1)).clamp(min=0.01).log()
    ruled = torch.where(agreed[:, None], opinions[2], mixed - mixed.mean(1, keepdim=True))
    labels = [row["label"] for row in gold] + [""] * len(mined)
    labels += [row["label"] for row, good in zip(hard, kept.tolist(), strict=True) if good]
    lesson.write(
        torch.cat([gold_pairs, mined, hard_pairs[kept]]),
        torch.cat([*opinions[:2], ruled[kept]]).clamp(-10, 10),
        labels,
    )


def teach_match(options: argparse.Namespace) -> None:
    """From free texts, by their cosines and by hard pairs."""
    with opened(options.texts[0]) as first:
        lines = chain(first, *map(opened, options.texts[1:]))
        known = Numbered(line.strip() for line in lines if line.strip())
    free = len(known)
    hard = shuffled(read_rows(options.hard, options.count))
    clashes = [row for row in read_rows(options.gold) if row["label"] == "contradiction"]
    clashes = shuffled(clashes)[: len(hard) // 8]
    hard_pairs, clash_pairs = known.pairs(hard), known.pairs(clashes)
    lesson = Lesson(options, known)
    found = lesson.vectors_of(free, [options.packed, *([each] for each in options.beside)])
    with timed("mining"):
        mined = mine_same(found)[: options.count]
        cosines = torch.cat([(found[a] * found[b]).sum(1).float().cpu()
                             for a, b in (part.T for part in mined.split(100_000))])  # fmt: skip
    del found
    scores = ((cosines - MIDDLE) / WIDTH).clamp(LEAST, MOST)
    lesson.report["mined"] = {"pairs": len(mined), "share_same":
                              round(float((scores > 0).float().mean()), 4)}  # fmt: skip
    told = torch.tensor([RULED[row["label"]] for row in hard])
    against = torch.full((len(clashes),), RULED["0"] - 1)
    kept = torch.ones(len(hard), dtype=torch.bool)
    target = torch.cat([scores, told, against])
    if options.fitted:
        pairs = mined, hard_pairs, clash_pairs
        kept, target = with_teacher(lesson, hard, pairs, (scores, told, against))
    target = target.clamp(LEAST, MOST)
    lesson.write(
        torch.cat([mined, hard_pairs[kept], clash_pairs]),
        torch.stack([-target / 2, target / 2], dim=1),
        None,
    )


def with_teacher(
    lesson: Lesson, hard: list[Row], pairs: Sequence[Tensor], given: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Which hard pairs are kept, and what a student learns, once a cross-encoder has its say.

    Args:
        lesson: Whose options and texts it is fitted with.
        hard: Rows of the hard pairs.
        pairs: Mined, hard and clashing ones.
        given: The logit of each by its cosine or its rule.
    """
    (mined, hard_pairs, clash_pairs), (scores, told, against) = pairs, given
    some, seen = min(lesson.options.fitted, len(mined)), len(hard) // 3
    model = lesson.fitted(torch.cat([mined[:some], hard_pairs[:seen], clash_pairs]),
                          torch.cat([scores[:some], told[:seen], against])[:, None])  # fmt: skip
    with timed("opinions"):
        opinions = [model.logits(lesson.table, each)[:, 0] for each in (mined, hard_pairs)]
    centred = opinions[0] - opinions[0].mean(), scores - scores.mean()
    norms = centred[0].norm() * centred[1].norm()
    lesson.report["correlation"] = round(float((centred[0] * centred[1]).sum() / norms), 4)
    same = torch.stack([1 - opinions[1].sigmoid(), opinions[1].sigmoid()], dim=1)
    kept, agreed = not_contradicted(same, F.one_hot((told > 0).long(), 2).float())
    lesson.report["hard"] = {"kept": int(kept.sum()), "agreement":
                             accuracy_by([row["rule"] for row in hard], agreed)}  # fmt: skip
    ruled = (0.7 * told + 0.3 * opinions[1])[kept]
    return kept, torch.cat([0.7 * opinions[0] + 0.3 * scores, ruled, against])


def teach_labelled(options: argparse.Namespace) -> None:
    """From labelled pairs, most of which are duplicates: a first teacher judges mined pairs."""
    gold, hard = read_rows(options.gold), shuffled(read_rows(options.hard, options.count))
    dev = read_rows(options.dev)
    known = Numbered(row[side] for row in gold for side in SIDES)
    free = len(known)
    gold_pairs, hard_pairs, dev_pairs = (known.pairs(rows) for rows in (gold, hard, dev))
    lesson = Lesson(options, known)
    found = lesson.vectors_of(free, [options.packed, *([each] for each in options.beside)])
    with timed("mining"):
        mined = torch.cat([mine_same(found) for _ in range(2)]).unique(dim=0)
        mined = mined[torch.randperm(len(mined))][: options.count]
    del found
    both = torch.tensor([row["source"] not in options.skip for row in gold])
    wanted, ruled = one_hot(gold, SAME), one_hot(hard, SAME)
    first = lesson.fitted(gold_pairs[both], wanted[both])
    some, seen = min(options.fitted, len(mined)), len(hard) // 8
    told = first.logits(lesson.table, mined[:some]).softmax(1)
    del first
    fitted = [gold_pairs, gold_pairs[both], mined[:some], hard_pairs[:seen]]
    model = lesson.fitted(torch.cat(fitted),
                          torch.cat([wanted, wanted[both], told, ruled[:seen]]))  # fmt: skip
    right = model.logits(lesson.table, dev_pairs).argmax(1) == one_hot(dev, SAME).argmax(1)
    lesson.report["dev"] = accuracy_by([row["source"] for row in dev], right)
    print(lesson.report, flush=True)
    hard_pairs, ruled = hard_pairs[: len(hard) // 2], ruled[: len(hard) // 2]
    with timed("opinions"):
        opinions = [model.logits(lesson.table, each) for each in (gold_pairs, mined, hard_pairs)]
    kept, agreed = not_contradicted(opinions[2].softmax(1), ruled)
    rules = [row["rule"] for row in hard[: len(hard_pairs)]]
    lesson.report["hard"] = {"kept": int(kept.sum()), "agreement": accuracy_by(rules, agreed)}
    mixed = (0.8 * ruled + 0.2 * opinions[2].softmax(1)).log()
    taught = torch.where(agreed[:, None], opinions[2], mixed - mixed.mean(1, keepdim=True))
    labels = [row["label"] if fair else "" for row, fair in zip(gold, both.tolist(), strict=True)]
    lesson.write(
        torch.cat([gold_pairs, mined, hard_pairs[kept]]),
        torch.cat([*opinions[:2], taught[kept]]).clamp(-6, 6),
        labels + [""] * (len(mined) + int(kept.sum())),
    )


def not_contradicted(shares: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows a sure teacher does not contradict, and with which it agrees."""
    others = shares.masked_fill(wanted > 0, 0).max(dim=1).values
    return others < SURE, shares.argmax(1) == wanted.argmax(1)


def shuffled(rows: list[Row]) -> list[Row]:
    """In an order that depends on nothing else."""
    return random.Random(1).sample(rows, len(rows))


def main() -> None:
    """Parse and teach."""
    parser = argparse.ArgumentParser(prog="python -m pair_teachers",
                                     description=(__doc__ or "").splitlines()[0])  # fmt: skip
    verbs = parser.add_subparsers(required=True)
    for name, verb in (("nli", teach_nli), ("match", teach_match), ("labelled", teach_labelled)):
        teaching = verbs.add_parser(name)
        teaching.add_argument("--packed", type=Path, nargs="+", required=True)
        teaching.add_argument("--gold", type=Path, required=True, help="labelled pairs")
        teaching.add_argument("--hard", type=Path, required=True)
        teaching.add_argument("--output", type=Path, required=True)
        teaching.add_argument("--count", type=int, default=1_500_000, help="the most pairs")
        teaching.add_argument("--epochs", type=int, default=3 if name == "nli" else 2)
        teaching.add_argument("--batch", type=int, default=256)
        teaching.add_argument("--lr", type=float, default=5e-5)
        teaching.set_defaults(verb=verb)
        if name == "match":
            teaching.add_argument("--texts", type=Path, nargs="+", required=True)
        else:
            teaching.add_argument("--dev", type=Path, required=True)
        if name != "nli":
            teaching.add_argument("--beside", type=Path, nargs="*", default=[])
            teaching.add_argument("--fitted", type=int, default=160_000,
                                  help="mined pairs that the teacher learns; of match, 0 for "
                                       "cosines and rules without a teacher")  # fmt: skip
        if name == "labelled":
            teaching.add_argument("--skip", nargs="*", default=[],
                                  help="sources of one label, for the first teacher")  # fmt: skip
    options = parser.parse_args()
    torch.manual_seed(1)
    options.output.mkdir(parents=True, exist_ok=True)
    options.verb(options)


if __name__ == "__main__":
    main()
