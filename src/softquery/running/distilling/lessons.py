"""What a student learns from: texts, translations of texts, and pairs that mean the same.

A text is read by the student, and a text is read by the teacher, whose vector the student learns;
they are the same one but for translations (Reimers & Gurevych 2020, Section 2). Negatives are
texts that are near a pair in the teacher's eyes, and yet mean something else.

N texts, E width of a vector, P pairs, S texts of each with its negatives.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from softquery.data import Sentences, TaughtTexts
from softquery.errors import InputError, counted
from softquery.files import read_rows, read_texts
from softquery.recipes.students import DistillRun, StudentPairs
from softquery.running.distilling.student import student_pipeline
from softquery.running.distilling.teacher import DistinctTexts, Teacher
from softquery.running.run_options import Say
from softquery.text import TextPipeline

LONGEST = 2_000
"""Characters of a text; more of it could not be read anyway."""
READ, TAUGHT = "text", "taught"
"""Columns of translations: what the student reads, and what the teacher reads of the same."""
PAIR, LABEL = ("sentence1", "sentence2"), "label"
PART = 65_536
"""Texts that are cut into pieces at a time."""
FEWEST = 4
"""Texts that are the least to learn from."""
COMPARED = 256
"""Pairs that are compared with all candidates at a time."""
CANDIDATES = 50_000
"""The most texts among which negatives are looked for: evenly spaced second sides."""
IMPOSSIBLE = -2.0
"""Below every cosine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LessonFiles:
    """Where lessons come from; each kind may be spread over several files."""

    texts: Sequence[Path] = ()
    """A text per line, or a column `text`."""
    parallel: Sequence[Path] = ()
    """Rows with `text` and, for the teacher, `taught`."""
    pairs: Sequence[Path] = ()
    """Rows with `sentence1` and `sentence2`, which mean the same; where there is a `label`, those
    that it says so of."""

    def all(self) -> list[Path]:
        """Every file."""
        return [*self.texts, *self.parallel, *self.pairs]


@dataclass(frozen=True, slots=True)
class GivenLessons:
    """Every text that the student reads once, and every text that the teacher reads once."""

    texts: list[str]
    """What the student reads."""
    taught_by: list[int]
    """For each of them, the number of the teacher's text."""
    teacher: DistinctTexts
    pairs: list[tuple[int, int]]
    """Numbers of two of the student's texts that mean the same."""

    @property
    def is_translated(self) -> bool:
        """Whether the student reads a text that the teacher does not."""
        return self.texts != self.teacher.texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Lessons:
    """The texts of a run with the teacher's vectors, cut into pieces: to learn and to steer by."""

    train: TaughtTexts
    tune: TaughtTexts
    pipeline: TextPipeline
    pairs: Int[Tensor, "P S"] | None = None
    """Rows of `train`: two texts that mean the same, then texts that do not."""


class _Gathering:
    """Texts as they are read, each kept once."""

    def __init__(self) -> None:
        self._taught: dict[str, tuple[int, int]] = {}
        self._read: dict[str, tuple[int, int]] = {}
        self.num_read = 0

    def add(self, text: str, taught: str | None = None) -> int | None:
        """The student's number of a text; None for one that is blank, or whose partner is."""
        own = tidied(text)
        other = own if taught is None else tidied(taught)
        place = self.num_read
        self.num_read += 1
        if not own or not other:
            return None
        number, _ = self._taught.setdefault(other, (len(self._taught), place))
        return self._read.setdefault(own, (len(self._read), number))[0]

    def done(self, pairs: list[tuple[int, int]]) -> GivenLessons:
        """All of it."""
        teacher = DistinctTexts(
            list(self._taught), [place for _, place in self._taught.values()], self.num_read
        )
        taught_by = [number for _, number in self._read.values()]
        return GivenLessons(list(self._read), taught_by, teacher, pairs)


def tidied(text: str) -> str:
    """A text with single spaces, cut to what could be read."""
    return " ".join(text[:LONGEST].split())


def read_lessons(files: LessonFiles, rename: Mapping[str, str] | None, say: Say) -> GivenLessons:
    """Read all files, in the order texts, translations, pairs.

    Args:
        files: Where the lessons are.
        rename: Our column names to those of the files.
        say: Receives what was found.
    """
    found = _Gathering()
    for text in read_texts(files.texts, rename=rename):
        found.add(text)
    for path in files.parallel:
        for row in read_rows(path, columns=(READ, TAUGHT), rename=rename):
            found.add(row.values[READ], row.values[TAUGHT])
    pairs = list(dict.fromkeys(_read_pairs(files.pairs, rename, found)))
    lessons = found.done(pairs)
    if len(lessons.texts) < FEWEST:
        raise InputError(
            f"{counted(len(lessons.texts), 'different text')} to learn from; "
            f"expected at least {FEWEST}",
            source=", ".join(map(str, files.all())),
        )
    if files.pairs and len(pairs) < FEWEST:
        raise InputError(
            f"{counted(len(pairs), 'pair')} of different texts that mean the same; "
            f"expected at least {FEWEST}",
            source=", ".join(map(str, files.pairs)),
        )
    say(f"{len(lessons.texts):,} different texts of {found.num_read:,}"
        + (f", {len(pairs):,} pairs" if pairs else ""))  # fmt: skip
    return lessons


def _read_pairs(
    paths: Sequence[Path], rename: Mapping[str, str] | None, found: _Gathering
) -> Iterator[tuple[int, int]]:
    for path in paths:
        for row in read_rows(path, columns=PAIR, optional=(LABEL,), rename=rename):
            label = row.values.get(LABEL, "1")
            if label not in ("0", "1"):
                raise InputError(
                    f"{LABEL} is {label!r:.40}; expected 1 for the same meaning or 0",
                    source=path,
                    row=row.number,
                )
            first, second = (found.add(row.values[side]) for side in PAIR)
            if label == "1" and first is not None and second is not None and first != second:
                yield first, second


def prepare_lessons(
    run: DistillRun,
    given: GivenLessons,
    teacher: Teacher,
    targets: Path,
    say: Say,
    pipeline: TextPipeline | None = None,
) -> Lessons:
    """Choose the student's sub-words, cut the texts, hold some back, and mine negatives.

    Args:
        run: The student's settings.
        given: What was read.
        teacher: Lends its sub-words.
        targets: The teacher's vectors, along the student's axes, a row per text it has read.
        say: Receives what was prepared.
        pipeline: How the student cuts texts, where it has learnt to read already.
    """
    if pipeline is None:
        # A teacher's sub-words are those of its own language.
        vocabulary = None if given.is_translated else teacher.vocabulary
        pipeline = student_pipeline(run, given.texts, vocabulary)
    say(f"{pipeline.vocab_size:,} sub-words")
    parts = (given.texts[start : start + PART] for start in range(0, len(given.texts), PART))
    sentences = Sentences.pack_parts(pipeline.encode_ids(part) for part in parts)
    vectors = torch.from_numpy(np.load(targets, mmap_mode="c", allow_pickle=False))
    taught_by = torch.tensor(given.taught_by)
    kept, held_back = _split(run, given)
    say(f"{len(kept):,} texts to train on, {len(held_back):,} held back to steer by")
    train, tune = (
        TaughtTexts(sentences.chosen(rows), vectors[taught_by[rows]])
        for rows in map(torch.from_numpy, (kept, held_back))
    )
    pairs = None
    if given.pairs:
        rows = torch.from_numpy(np.searchsorted(kept, np.asarray(given.pairs)))
        pairs = mine_negatives(rows, train.vectors, run.pairs)
        say(f"{len(pairs):,} pairs, {pairs.shape[1] - 2} mined negatives each")
    return Lessons(train=train, tune=tune, pipeline=pipeline, pairs=pairs)


def _split(run: DistillRun, given: GivenLessons) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the texts to train on and of those held back, which are in no pair."""
    paired = {number for pair in given.pairs for number in pair}
    free = np.array([row for row in range(len(given.texts)) if row not in paired], dtype=np.int64)
    order = np.random.default_rng(run.training.seed).permutation(len(free))
    count = min(max(2, round(len(given.texts) * run.data.tune_share)), run.data.most_tuned)
    if len(free) < count:
        raise InputError(
            f"{counted(len(free), 'text')} in no pair, which is too few to steer by; "
            f"expected at least {count}",
            source="the texts",
        )
    held_back = np.sort(free[order[:count]])
    kept = np.setdiff1d(np.arange(len(given.texts)), held_back)
    return kept, held_back


@torch.inference_mode()
def mine_negatives(
    pairs: Int[Tensor, "P 2"], vectors: Float[Tensor, "N E"] | None, settings: StudentPairs
) -> Int[Tensor, "P S"]:
    """Each pair with the texts that are nearest to its first one, and clearly less so than its own.

    Candidates are the second texts of other pairs. One whose cosine comes within the margin of the
    pair's own may mean the same, and is passed over (as in Moreira et al. 2024, Section 3), unless
    it is below the floor.

    Args:
        pairs: Rows of texts that mean the same.
        vectors: The teacher's vectors of length one, by which nearness is judged.
        settings: How many negatives, the margin and the floor.

    >>> vectors = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    >>> mine_negatives(torch.tensor([[0, 1], [3, 2]]), vectors, StudentPairs()).tolist()
    [[0, 1, 2], [3, 2, 1]]
    """
    if vectors is None:
        raise ValueError("mining needs the teacher's vectors")
    if settings.num_negatives == 0:
        return pairs
    others = torch.unique(pairs[:, 1])
    others = others[:: max(1, -(-len(others) // CANDIDATES))]
    candidates = vectors[others].float()
    count = min(settings.num_negatives, len(others))
    parts = []
    for some in torch.split(pairs, COMPARED):
        first, second = vectors[some[:, 0]].float(), vectors[some[:, 1]].float()
        own = (first * second).sum(dim=-1, keepdim=True)
        cosines = first @ candidates.T  # [P, C]
        cosines[cosines > (own - settings.margin).clamp(min=settings.floor)] = IMPOSSIBLE
        for side in some.T:
            cosines[others == side[:, None]] = IMPOSSIBLE
        parts.append(torch.cat([some, others[cosines.topk(count, dim=-1).indices]], dim=-1))
    return torch.cat(parts)
