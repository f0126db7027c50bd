r"""Train a matcher on taught pairs for a given time: a recipe, with everything cut at once.

    python shipped/taught_matcher.py match-zh --pairs taught --data prepared --seconds 400 \
        --output seed-1 --set optim.lr=1e-3 --vectors characters.bin

`--pairs` is a folder of `numbered_pairs.py`, or one that `pair_teachers` wrote: what is learnt of
its pairs is the teacher's opinion, and half of it the label where there is one.
The loop, the loss and the bundle are those of `softquery train`; `--data` holds `tune.jsonl`, by
which the best weights are chosen, and `dev.jsonl`, which is only measured; `--held-back` writes
`tune.jsonl`, of taught pairs. The learning rate falls by the clock, so that the run ends when the
time is over, whatever else the machine does; how many steps that took stands in its `run.json`.
"""

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numbered_pairs import PAIRS, NumberedPairs
from numpy.typing import NDArray
from pair_teachers.rows import SIDES, Numbered, opened

from softquery.bundle import RECORDS
from softquery.data import Pairs, Sentences
from softquery.files import Row
from softquery.recipes import override, recipe
from softquery.running import train as training
from softquery.running.adapter import Prepared
from softquery.running.match import MatchAdapter
from softquery.running.run_options import RunOptions, Say
from softquery.tasks import PairClassification
from softquery.text import TextPipeline, build_pipeline
from softquery.training import Schedule

BLOCK = 10_000
READ_FOR_WORDS = 300_000
"""Texts that the vocabulary is made of."""
EPOCHS = 100
"""More than there is time for."""
GOLD = 0.5
"""Weight of a pair's own label beside the teacher's opinion."""


@dataclass(frozen=True, slots=True)
class Taught:
    """Texts, each once, pairs of them by number, and the share of each class [N, C]."""

    texts: list[str]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    shares: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.shares)

    @classmethod
    def read(cls, folder: Path, labels: Sequence[str]) -> "Taught":
        """Either kind of folder."""
        if (folder / PAIRS).exists():
            pairs = NumberedPairs.read(folder)
            shares = np.stack([1 - pairs.share, pairs.share], axis=1)
            return cls(pairs.texts, pairs.first, pairs.second, shares)
        logits = np.load(folder / "logits.npy").astype(np.float64)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        known, places, gold = Numbered(), [], []
        with opened(folder / "pairs.jsonl") as lines:
            for number, row in enumerate(map(json.loads, lines)):
                places.append([known.number(row[side]) for side in SIDES])
                if row.get("label"):
                    gold.append((number, labels.index(row["label"])))
        rows, classes = np.array(gold, np.int64).reshape(-1, 2).T
        shares[rows] *= 1 - GOLD
        shares[rows, classes] += GOLD
        first, second = np.array(places, np.int32).reshape(-1, 2).T
        return cls(known.texts, first, second, shares.astype(np.float32))

    def without(self, count: int) -> tuple["Taught", "Taught"]:
        """All but some of the pairs, and those; the texts stay."""
        order = np.random.default_rng(1).permutation(len(self))
        kept, held = (
            Taught(self.texts, self.first[rows], self.second[rows], self.shares[rows])
            for rows in (order[count:], order[:count])
        )
        return kept, held

    def write_tune(self, path: Path, labels: Sequence[str]) -> None:
        """Write the pairs with the likeliest labels."""
        with path.open("w", encoding="utf-8") as file:
            for one, other, shares in zip(self.first, self.second, self.shares, strict=True):
                row = {
                    SIDES[0]: self.texts[one],
                    SIDES[1]: self.texts[other],
                    "label": labels[int(shares.argmax())],
                    "source": "held back",
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


class Clock:
    """Ends a run in time; an observer of the loop.

    Args:
        seconds: From the first step on.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self._began = seconds, math.nan

    def share(self) -> float:
        """Of the time that is over; it begins with the first question."""
        if math.isnan(self._began):
            self._began = time.monotonic()
        return (time.monotonic() - self._began) / self.seconds

    def begin(self, total_steps: int, done: int) -> None:
        """The run starts."""

    def step(self, done: int, facts: dict[str, float]) -> bool | None:
        """Whether the time is over."""
        if done % 500 == 0:
            print(done, {name: round(each, 4) for name, each in facts.items()}, flush=True)
        return self.share() >= 1

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> bool | None:
        """An epoch was measured."""
        print(number, {name: round(each, 4) for name, each in facts.items()}, flush=True)
        return None


class TimedSchedule(Schedule):
    """A schedule of which as much is over as of the time."""

    clock: Clock

    def scale(self, step: int, total_steps: int) -> float:
        """The factor at a step; 1,000 stand for all of them once the rate has risen."""
        if step < self.warmup_steps:
            self.clock.share()
            return (step + 1) / self.warmup_steps
        return replace_warmup(self).scale(round(1_000 * min(1.0, self.clock.share())), 1_000)


def replace_warmup(schedule: Schedule) -> Schedule:
    """The same schedule, risen already."""
    return Schedule(**{**asdict(schedule), "warmup_steps": 0, "warmup_share": 0.0})


class _Encoder:
    """Cuts texts in a process of its own."""

    pipeline: TextPipeline

    @classmethod
    def begin(cls, pipeline: TextPipeline) -> None:
        cls.pipeline = pipeline

    @classmethod
    def encode(cls, texts: list[str]) -> list[list[int]]:
        return [list(map(int, each)) for each in cls.pipeline.encode_ids(texts)]


class NumberedMatch(MatchAdapter):
    """Matching whose training pairs were read and cut already.

    Args:
        pairs: With what is learnt of each.
        labels: Of the classes.
        pipeline: Of the student.
        processes: That cut side by side.
    """

    def __init__(
        self, pairs: Taught, labels: Sequence[str], pipeline: TextPipeline, processes: int
    ) -> None:
        blocks = [pairs.texts[start : start + BLOCK] for start in range(0, len(pairs.texts), BLOCK)]
        with Pool(processes, _Encoder.begin, (pipeline,)) as pool:
            texts = Sentences.pack_parts(pool.imap(_Encoder.encode, blocks))
        first, second = (
            texts.chosen(torch.from_numpy(each).long()) for each in (pairs.first, pairs.second)
        )
        self.pipeline, self.named = pipeline, labels
        self.train = Pairs(first, second, torch.from_numpy(pairs.shares))

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[Row]:
        """The rows of a file; of the training file those that name the labels."""
        if path.stem != "train":
            return super().parse(path, rename)
        return list(_labelled(path, self.named))

    def build_pipeline(self, run: Any, rows: Any) -> TextPipeline:
        """The one that was made of all texts."""
        return self.pipeline

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, to_train: bool = False
    ) -> Any:
        """A split as tensors."""
        if to_train:
            return self.train
        return super().encode(rows, prepared, say, name)

    def num_trained(self, rows: list[Row], train: Any) -> int:
        """All pairs by number."""
        return len(train)


def _labelled(path: Path, labels: Sequence[str]) -> Iterator[Row]:
    """A row of each label, which stand for those that are numbered."""
    for number, label in enumerate(labels, 1):
        values = {"sentence1": f"{number}", "sentence2": f"{number}", "label": label}
        yield Row(values=values, number=number, source=str(path))


def pipeline_of(texts: list[str], run: Any) -> TextPipeline:
    """Of a seeded sample of the texts."""
    order = np.random.default_rng(1).permutation(len(texts))[:READ_FOR_WORDS]
    return build_pipeline(
        [texts[place] for place in order], run.text, min_count=run.vocabulary.min_count
    )


def train(options: argparse.Namespace) -> Path:
    """Train and write the bundle."""
    began = time.monotonic()
    clock = Clock(options.seconds)
    settings = [*options.set, f"training.max_epochs={EPOCHS}", f"training.patience={EPOCHS}"]
    run = override(recipe(options.recipe), settings)
    schedule = TimedSchedule(**asdict(run.schedule))
    TimedSchedule.clock = clock
    run = replace(run, schedule=schedule, vectors=tuple(map(str, options.vectors)))
    task = run.task
    if not isinstance(task, PairClassification):
        raise SystemExit(f"{run.name}: is no recipe with labels of its own")
    pairs = Taught.read(options.pairs, task.labels)
    if options.held_back:
        pairs, held = pairs.without(options.held_back)
        held.write_tune(options.data / "tune.jsonl", task.labels)
    pipeline = pipeline_of(pairs.texts, run)
    adapter = NumberedMatch(pairs, task.labels, pipeline, options.processes)
    print(f"{len(pairs):,} pairs cut: {time.monotonic() - began:.0f} s", flush=True)
    (options.data / "train.jsonl").touch()
    training.ADAPTERS["matcher"] = adapter
    given = RunOptions(
        data=options.data,
        output=options.output,
        observer=clock,
        say=lambda line: print(line, flush=True),
    )
    bundle = training.train_task(run, given)
    note_steps(bundle)
    return bundle


def note_steps(bundle: Path) -> None:
    """Let `run.json` say how many steps there were time for."""
    steps = json.loads((bundle / "metrics.json").read_text(encoding="utf-8"))["training"]["steps"]
    path = bundle / RECORDS / "run.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["training"]["max_steps"] = steps
    path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--vectors", type=Path, action="append", default=[])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--held-back", type=int, default=0,
                        help="pairs to steer by, written to tune.jsonl")  # fmt: skip
    print(train(parser.parse_args()))


if __name__ == "__main__":
    main()
