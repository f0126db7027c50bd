"""A teacher's pass over its lessons by the actors of Ray: which part goes to whom, and how."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from softquery.ray.cluster import Actors
from softquery.running.distilling.open_teacher import (
    checked_logits,
    open_pair_teacher,
    open_teachers,
)
from softquery.running.distilling.pair_lessons import DistinctPairs
from softquery.running.distilling.teacher import DistinctTexts, Parts, vectors_of_part


class SentLesson(NamedTuple):
    """A part of the lessons, as it is sent."""

    part: slice
    items: Sequence[Any]
    places: Sequence[int]
    num_read: int
    total: int


class PartOf:
    """A part of a sequence that answers to the numbers of the whole.

    Args:
        first: The number of the first item.
        items: What is there.
        total: The length of the whole.

    >>> len(PartOf(10, ["a", "b"], 99)), PartOf(10, ["a", "b"], 99)[slice(10, 12)]
    (99, ['a', 'b'])
    """

    def __init__(self, first: int, items: Sequence[Any], total: int) -> None:
        self._first, self._items, self._total = first, items, total

    def __len__(self) -> int:
        return self._total

    def __getitem__(self, part: slice) -> Sequence[Any]:
        return self._items[part.start - self._first : part.stop - self._first]


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorPass:
    """A sentence encoder's teachers, by their names.

    Attributes:
        sources: As `open_teachers` takes them.
        weights: Likewise.
        size: The width of the student's vectors.
    """

    sources: tuple[str, ...]
    weights: tuple[float, ...] | None
    size: int

    def open(self) -> Callable[[SentLesson], NDArray[Any]]:
        """Open the teachers."""
        teacher = open_teachers(self.sources, self.weights)

        def compute(lesson: SentLesson) -> NDArray[Any]:
            start, total = lesson.part.start, lesson.total
            texts: Any = PartOf(start, lesson.items, total)
            places: Any = PartOf(start, lesson.places, total)
            given = DistinctTexts(texts, places, lesson.num_read)
            return vectors_of_part(teacher, given, self.size, lesson.part)

        return compute

    def parts(self, given: DistinctTexts, actors: Actors) -> Parts:
        """What computes the missing parts of the texts."""

        def lesson(part: slice) -> SentLesson:
            places = given.places[part]
            return SentLesson(part, given.texts[part], places, given.num_read, len(given.texts))

        return _parts(self, lesson, actors)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogitPass:
    """A matcher's teacher, by its name.

    Attributes:
        source: As `open_pair_teacher` takes it.
        labels: Likewise.
    """

    source: str
    labels: tuple[str, ...]

    def open(self) -> Callable[[SentLesson], NDArray[Any]]:
        """Open the teacher."""
        teacher = open_pair_teacher(self.source, self.labels)

        def compute(lesson: SentLesson) -> NDArray[Any]:
            given: Any = SentPairs(lesson)
            return checked_logits(teacher, given, lesson.part)

        return compute

    def parts(self, given: DistinctPairs, actors: Actors) -> Parts:
        """What computes the missing parts of the pairs."""

        def lesson(part: slice) -> SentLesson:
            places: Sequence[int] = given.places[part].tolist()
            return SentLesson(part, given.pairs(part), places, given.num_read, len(given))

        return _parts(self, lesson, actors)


class SentPairs:
    """A part of the pairs, as a teacher asks for it.

    Args:
        lesson: What was sent.
    """

    def __init__(self, lesson: SentLesson) -> None:
        self.pairs = PartOf(lesson.part.start, lesson.items, lesson.total).__getitem__
        self.places = PartOf(lesson.part.start, lesson.places, lesson.total)
        self.num_read = lesson.num_read

    def __len__(self) -> int:
        return len(self.places)


def vector_pass(
    sources: Sequence[str],
    weights: Sequence[float] | None,
    actors: Actors,
    given: DistinctTexts,
    size: int,
) -> Parts:
    """What asks teachers of vectors, by actors.

    Args:
        sources: As `open_teachers` takes them.
        weights: Likewise.
        actors: Who asks.
        given: All texts.
        size: The width of the student's vectors.
    """
    counting = None if weights is None else tuple(weights)
    job = VectorPass(sources=tuple(map(everywhere, sources)), weights=counting, size=size)
    return job.parts(given, actors)


def logit_pass(source: str, labels: Sequence[str], actors: Actors, given: DistinctPairs) -> Parts:
    """What asks a teacher of logits, by actors.

    Args:
        source: As `open_pair_teacher` takes it.
        labels: Likewise.
        actors: Who asks.
        given: All pairs.
    """
    return LogitPass(source=everywhere(source), labels=tuple(labels)).parts(given, actors)


def everywhere(source: str) -> str:
    """The name of a teacher in whatever folder an actor works."""
    place = Path(source).expanduser()
    return str(place.resolve()) if place.exists() else source


def _parts(job: Any, lesson: Callable[[slice], SentLesson], actors: Actors) -> Parts:
    def computed(missing: Iterable[slice]) -> Iterator[tuple[slice, NDArray[Any]]]:
        from softquery.ray.parts import computed_parts

        by_start: dict[int, slice] = {}

        def sent() -> Iterator[tuple[int, SentLesson]]:
            for part in missing:
                by_start[part.start] = part
                yield part.start, lesson(part)

        for start, array in computed_parts(job, sent(), actors):
            yield by_start.pop(start), array

    return computed
