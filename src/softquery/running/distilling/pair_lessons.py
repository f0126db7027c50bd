"""Pairs that a matcher learns a teacher's opinion of, some of them with a label of their own.

N pairs, C logits of each.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softquery.data import (
    NO_LABEL,
    Pairs,
    PiecePairs,
    Sentences,
    split_rows,
)
from softquery.data.tokens import parsed_label
from softquery.errors import InputError, counted
from softquery.files import Row, read_rows
from softquery.models import REGISTRY
from softquery.recipes import Run
from softquery.running.adapter import Prepared, prepare_rows, vocabulary_of
from softquery.running.distilling.lessons import FEWEST, LABEL, LONGEST, PAIR, PART, tidied
from softquery.running.match import MatchAdapter
from softquery.running.row_checks import Rows
from softquery.running.run_options import Say
from softquery.tasks import DistillSettings, PairGrading, PairTask
from softquery.text import TextPipeline

Numbers = NDArray[np.int64]
Pair = tuple[str, str]
SHIFT = 31
"""Bits of the number of a text."""


class PairFile(NamedTuple):
    """What a file gave."""

    name: str
    num_rows: int
    num_gold: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DistinctPairs:
    """Every pair once, as numbers of texts, each of which stands once as well."""

    texts: list[str]
    first: Numbers
    second: Numbers
    places: Numbers
    """Where each pair stands among all rows that were read, repeated ones included."""
    gold: NDArray[Any]
    """Class ids with `NO_LABEL`, or shares of a scale with NaN, where a pair has no label."""
    files: list[PairFile]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def num_read(self) -> int:
        """Rows of all files."""
        return sum(file.num_rows for file in self.files)

    @property
    def is_gold(self) -> NDArray[np.bool_]:
        """Which pairs have a label."""
        found: NDArray[np.bool_] = (
            ~np.isnan(self.gold) if self.gold.dtype.kind == "f" else self.gold != NO_LABEL
        )
        return found

    def pairs(self, part: slice) -> list[Pair]:
        """Both texts of a part of the pairs."""
        sides = (self.first[part].tolist(), self.second[part].tolist())
        return [(self.texts[one], self.texts[other]) for one, other in zip(*sides, strict=True)]


class _PairGathering:
    """Pairs as they are read, each kept once, with the first label that a row has for it."""

    def __init__(self, task: PairTask) -> None:
        self._parse: Callable[[str], int | float] = task.parse_label
        self._grades = isinstance(task, PairGrading)
        self._texts: dict[str, int] = {}
        self._rows: dict[int, int] = {}
        """By both numbers in one, of which there may be millions."""
        self._places = array("q")
        self._gold: array[Any] = array("d" if self._grades else "q")
        self.files: list[PairFile] = []
        self.num_read = self.num_cut = 0

    def read(self, path: Path, rename: Mapping[str, str] | None) -> None:
        """All rows of a file."""
        before, num_gold = self.num_read, 0
        for row in read_rows(path, columns=PAIR, optional=(LABEL,), rename=rename):
            num_gold += self._add(row)
            self.num_read += 1
        self.files.append(PairFile(path.name, self.num_read - before, num_gold))

    def _add(self, row: Row) -> bool:
        """Keep a row, and say whether it has a label."""
        one, other = (self._number(row.values[side]) for side in PAIR)
        has_label = bool(row.values.get(LABEL, "").strip())
        number = self._rows.setdefault(one << SHIFT | other, len(self._rows))
        if number == len(self._places):
            self._places.append(self.num_read)
            self._gold.append(math.nan if self._grades else NO_LABEL)
        if has_label:
            label, known = parsed_label(row, self._parse), self._gold[number]
            if math.isnan(known) or known == NO_LABEL:
                self._gold[number] = label
        return has_label

    def _number(self, text: str) -> int:
        stripped = text.strip()
        self.num_cut += len(stripped) > LONGEST
        return self._texts.setdefault(tidied(stripped), len(self._texts))

    def done(self) -> DistinctPairs:
        """All of it."""
        keys = np.fromiter(self._rows, np.int64, len(self._rows))
        return DistinctPairs(
            texts=list(self._texts),
            first=keys >> SHIFT,
            second=keys & (1 << SHIFT) - 1,
            places=np.array(self._places, dtype=np.int64),
            gold=np.array(self._gold),
            files=self.files,
        )


def read_pairs(
    paths: Sequence[Path], task: PairTask, rename: Mapping[str, str] | None, say: Say
) -> DistinctPairs:
    """Read all files.

    Args:
        paths: Rows with `sentence1`, `sentence2` and, in some or in none, `label`.
        task: Says which labels there are.
        rename: Our column names to those of the files.
        say: Receives what was found.
    """
    found = _PairGathering(task)
    for path in paths:
        found.read(path, rename)
    given = found.done()
    if len(given) < FEWEST:
        raise InputError(
            f"{counted(len(given), 'different pair')} to learn from; expected at least {FEWEST}",
            source=", ".join(map(str, paths)),
        )
    num_gold = int(given.is_gold.sum())
    labelled = f", {num_gold:,} of them with a label" if num_gold else ""
    say(f"{len(given):,} different pairs of {given.num_read:,} rows{labelled}")
    if found.num_cut:
        many = counted(found.num_cut, "text was", "texts were")
        say(f"{many} cut at {LONGEST:,} characters")
    return given


class PairStudentAdapter(MatchAdapter):
    """Matching whose labels are the teacher's, and whose rows are texts, for the vocabulary."""

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """The run has its task already."""
        return run

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """The words of all texts."""
        return vocabulary_of(run, rows["train"])


@dataclass(frozen=True, kw_only=True, slots=True)
class PairLessons:
    """The pairs of a run, cut into tokens: to learn and to steer by."""

    prepared: Prepared
    train: Pairs | PiecePairs
    tune: Pairs | PiecePairs
    kept: Numbers
    held_back: Numbers
    """Numbers of the pairs of `train` and of `tune`."""

    def taught(self, logits: NDArray[np.float32]) -> "PairLessons":
        """The same with the teacher's logits [N, C] of all pairs."""
        train, tune = (
            replace(pairs, taught=torch.from_numpy(logits[rows]))
            for pairs, rows in ((self.train, self.kept), (self.tune, self.held_back))
        )
        return replace(self, train=train, tune=tune)


def prepare_pairs(run: Run, given: DistinctPairs, init: Any, say: Say) -> PairLessons:
    """Settle the student's vocabulary, cut the texts, and hold some pairs back.

    Args:
        run: With its task.
        given: What was read.
        init: A bundle that the student starts from; None for none.
        say: Receives what was prepared.
    """
    prepared = prepare_rows(run, PairStudentAdapter(), {"train": given.texts}, init, say)
    sentences = _cut(given.texts, prepared.pipeline, say)
    kept, held_back = _split(run, given)
    say(f"{len(kept):,} pairs to train on, {len(held_back):,} held back to steer by")
    has_encoder = REGISTRY[prepared.run.model_name()].has_encoder

    def chosen(rows: Numbers) -> Pairs | PiecePairs:
        sides = [sentences.chosen(_tensor(side[rows])) for side in (given.first, given.second)]
        gold = _tensor(given.gold[rows])
        label = gold.float() if gold.is_floating_point() else gold
        kind = PiecePairs if has_encoder else Pairs
        return kind(sides[0], sides[1], label)

    return PairLessons(
        prepared=prepared,
        train=chosen(kept),
        tune=chosen(held_back),
        kept=kept,
        held_back=held_back,
    )


def _tensor(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


def _cut(texts: list[str], pipeline: TextPipeline, say: Say) -> Sentences:
    """All texts as token ids."""
    num_cut = 0

    def parts() -> Iterator[list[list[int]]]:
        nonlocal num_cut
        for start in range(0, len(texts), PART):
            ids, cuts = pipeline.encode_ids_with_cuts(texts[start : start + PART])
            num_cut += sum(cut > 0 for cut in cuts)
            yield ids

    sentences = Sentences.pack_parts(parts())
    if num_cut:
        many = counted(num_cut, "text was", "texts were")
        say(f"{many} cut at {pipeline.config.max_tokens} tokens")
    return sentences


def _split(run: Run, given: DistinctPairs) -> tuple[Numbers, Numbers]:
    """Numbers of the pairs to train on and of those held back; a first text is in one of both."""
    settings = run.settings if isinstance(run.settings, DistillSettings) else DistillSettings()
    share = min(run.data.tune_share, settings.most_tuned / len(given))
    firsts = given.first.tolist()
    num_groups = len(set(firsts))
    # At least two groups, since one pair cannot be correlated with another.
    share = max(share, 2 / num_groups)
    if num_groups < FEWEST:
        raise InputError(
            f"{counted(num_groups, 'different first text')}, which is too few to learn from "
            f"and to hold some back; expected at least {FEWEST}",
            source="the pairs",
        )
    kept, held_back = split_rows(
        list(range(len(given))), share=share, seed=run.training.seed, key=firsts.__getitem__
    )
    return np.array(kept, dtype=np.int64), np.array(held_back, dtype=np.int64)
