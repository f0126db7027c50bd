"""What tuning is asked for, and what every kind of it takes: an aim, searches, a place to store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from softquery import __version__
from softquery.search.aims import DEFAULT_AIM, Aim, parse_aim
from softquery.search.index_view import IndexView
from softquery.search.query.search_steps import SearchSteps, run_searches
from softquery.search.query.stages import STAGES
from softquery.search.query.thresholds import least_score
from softquery.search.storage.manifest import LEARNED, IndexSettings
from softquery.search.storage.store import Store
from softquery.search.storage.tuning_files import write_tuning
from softquery.search.tuning.stored_score import stored_form
from softquery.search.tuning.tune_report import TuneReport
from softquery.search.tuning.tuned_score import TunedScore

Advance = Callable[[int], object]
Announce = Callable[[TuneReport], object]
AT_A_TIME = 64
"""Searches that are made ready together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TuneOptions:
    """How an index is tuned.

    Attributes:
        aim: What the threshold is for; by default what it is for in the index.
        is_forced: Whether the index changes where that is not surely better.
        is_dry: Whether it never changes.
        threads: Searches at a time.
        advance: Called with the number of queries that were searched.
        announce: Called with the report before anything is changed.
    """

    aim: str | None = None
    is_forced: bool = False
    is_dry: bool = False
    threads: int = 1
    advance: Advance = lambda done: None
    announce: Announce = lambda report: None


def chosen_aim(settings: IndexSettings, given: str | None) -> Aim:
    """What the threshold is for: as given, else as the index says."""
    chosen = settings.aim if given is None else given
    return DEFAULT_AIM if chosen is None else parse_aim(chosen)


def threshold_before(
    index: IndexView, settings: IndexSettings, aim: Aim, given: str | None
) -> float | None:
    """The threshold without tuning: that of the aim, if one was given, or the index's own."""
    asked = aim.spelt if given is not None and settings.score == LEARNED else None
    return least_score(settings, index.models, STAGES, asked)


def untuned_searches(
    index: IndexView, queries: Sequence[str], options: TuneOptions
) -> Iterator[SearchSteps]:
    """Searches by the index's own score, each when it is done."""
    remaining, done = iter(queries), 0
    while part := list(islice(remaining, AT_A_TIME)):
        searches = [index.untuned_steps(query) for query in part]
        run_searches(searches, options.threads)
        yield from searches
        done += len(part)
        options.advance(done)


def store_tuning(store: Store, score: TunedScore, report: TuneReport, aim: Aim) -> None:
    """Write a tuning, and make it that of the index."""
    settings, before = store.manifest.settings, store.tuning
    kept = {"min_score": settings.min_score, "aim": settings.aim}
    if before is not None:
        kept = {name: before.before.get(name) for name in kept}
    content = {**stored_form(score), "before": kept, "report": report.to_dict()}
    entry = write_tuning(store.new_tuning(), content, score.remembered.vectors, __version__)
    settings = replace(settings, min_score=None, aim=aim.spelt)
    store.become(replace(store.manifest, settings=settings, tuning=entry))


def replaced_note(settings: IndexSettings) -> list[str]:
    """That a threshold which somebody set no longer counts, if there is one."""
    if settings.min_score is None:
        return []
    return [f"min_score {settings.min_score:g} was for the score before and no longer counts"]
