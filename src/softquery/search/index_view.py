"""An index as it is searched: its rows, its models, its threshold."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from softquery.errors import counted
from softquery.progress_display import showing
from softquery.runtime import Matcher
from softquery.runtime.given_texts import Texts
from softquery.search.aims import DEFAULT_AIM
from softquery.search.changes.duplicates import Duplicate, find_duplicates
from softquery.search.query.filters import Where
from softquery.search.query.index_models import IndexModels
from softquery.search.query.retrieval import GivenOptions, SearchOptions, SearchResult
from softquery.search.query.search_steps import (
    AnySearch,
    SearchResults,
    SearchSteps,
    checked_queries,
    run_searches,
)
from softquery.search.query.searched_rows import SearchedRows, SegmentRows
from softquery.search.query.stages import STAGES, Stages, checked_stages
from softquery.search.query.thresholds import least_score
from softquery.search.query.waiting import all_awaited, awaited
from softquery.search.score.index_facts import IndexFacts, measure_facts
from softquery.search.storage.entries import MATCHED
from softquery.search.storage.index_folder import folder_sizes
from softquery.search.storage.manifest import LEARNED, Manifest, check_min_score
from softquery.search.storage.readable_store import ReadableStore
from softquery.search.storage.segment import Segment
from softquery.search.storage.tuning_files import StoredTuning
from softquery.search.tuning.stored_score import tuned_score_of
from softquery.search.tuning.tune_report import TuneReport, report_of
from softquery.search.tuning.tuned_score import TunedScore

Advance = Callable[[int], object]


class IndexView:
    """Questions and answers in a folder, as this process sees them.

    Args:
        store: The folder.
        models: The models that encode rows and queries.
    """

    def __init__(self, store: ReadableStore, models: IndexModels) -> None:
        self._store: ReadableStore = store
        self._models = models
        self._store.require_shape(models.shape(store.manifest.columns))
        self._facts: tuple[tuple[Segment, ...], IndexFacts] | None = None
        self._tuned: tuple[StoredTuning, TunedScore] | None = None

    def __repr__(self) -> str:
        name, model = self.address, ", ".join(Path(each).name for each in self.model_names)
        tuning, shown = self.tuning, ""
        if tuning is not None:
            shown = f", tuned on {counted(tuning.num_queries, 'query', 'queries')}"
        return f"{type(self).__name__}({name!r}, {len(self):,} rows, model={model!r}{shown})"

    def __len__(self) -> int:
        if MATCHED not in self._store.manifest.columns:
            return self._store.manifest.num_rows
        return sum(len(segment.given_rows) for segment in self._store.segments)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._store.folder

    @property
    def address(self) -> str:
        """Where the index lies, as it is typed."""
        return str(self.path)

    @property
    def manifest(self) -> Manifest:
        """The state of the index as this process sees it."""
        return self._store.manifest

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments that hold the rows."""
        return self._store.segments

    @property
    def models(self) -> IndexModels:
        """The models that encode rows and queries."""
        return self._models

    @property
    def matcher(self) -> Matcher:
        """The matcher, which encodes and compares texts."""
        return self._models.matcher

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names or folders of its matchers: one, or one for each language."""
        return (self._store.manifest.model,)

    def matcher_for(self, text: str) -> Matcher:
        """The matcher that compares a query."""
        return self._models.matcher

    @property
    def min_score(self) -> float:
        """The score that a hit needs to be an answer, unless a search names another."""
        least = self.least_score()
        return 0.0 if least is None else least

    @property
    def has_learned_score(self) -> bool:
        """Whether scores are those that were learned over many domains; see `IndexSettings`."""
        return self._store.manifest.settings.score == LEARNED

    @property
    def aim(self) -> str | None:
        """What the threshold is for; None if `min_score` was set, or scores are not learned."""
        settings = self._store.manifest.settings
        has_aim = settings.score == LEARNED or self._store.tuning is not None
        if not has_aim or settings.min_score is not None:
            return None
        return settings.aim or DEFAULT_AIM.spelt

    def least_score(
        self, stages: Iterable[str] | None = None, aim: str | None = None
    ) -> float | None:
        """The score that a hit needs, for some stages and an aim; None for any score.

        Args:
            stages: Those of the search; all by default.
            aim: `"precision=P"` or `"coverage=C"`; the index's own threshold by default.

        Raises:
            ConfigError: The aim is none, or scores are not the learned ones.
        """
        used = checked_stages(stages, self.stages)
        settings = self._store.manifest.settings
        return least_score(settings, self._models, used, aim, self._tuned_score())

    @property
    def tuning(self) -> TuneReport | None:
        """What the index was tuned on, and what that gained; None if it was not tuned."""
        stored = self._store.tuning
        return None if stored is None else report_of(stored)

    @property
    def stages(self) -> Stages:
        """The stages that a search may use."""
        return STAGES

    def search(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
    ) -> list[dict[str, Any]]:
        """The stored rows that answer a query, best first; none if no answer is good enough.

        Args:
            query: The question.
            top_k: The most hits to return.
            where: Columns that must have a value, or one of several, or be within bounds:
                `{"category": "refunds", "price": {"<": 20}}`; see `softquery.search.query.filters`.
            min_score: The score that a hit needs to be an answer; by default what the aim asks for.
                Of a fused score it is the index's own, and none without `"rerank"`.
            candidates: How many rows are compared with the query.
            explain: Whether each hit has an `alignment`: which words attended to which.
            stages: Some of `"words"`, `"vectors"` and `"rerank"`; all by default. What a fused
                score is depends on them, see `softquery.search.query.stages`.
            aim: What the threshold is for, such as `"coverage=0.8"`; the index's own by default.

        Returns:
            Dicts with `id`, `question`, `answer`, the kept columns, and `score`.
        """
        return self.find(
            query,
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=stages,
            aim=aim,
        ).hits

    def find(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
    ) -> SearchResult:
        """As `search`, but also returns the next best rows, the time by stage, and the stages."""
        return self.steps(
            query,
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=stages,
            aim=aim,
        ).run()

    def search_many(
        self,
        queries: Texts,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
        progress: bool = False,
    ) -> list[SearchResult]:
        """As `find` for each of several queries; if one is empty or no text, none is searched."""
        distinct = checked_queries(queries)
        given = GivenOptions(
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=checked_stages(stages, self.stages),
            aim=aim,
        )
        searches = [self._begun(query, given) for query in dict.fromkeys(distinct)]
        with showing(progress, "queries", searches) as shown:
            results = run_searches(searches, self._models.threads, shown)
        found = {each.query: each for each in results}
        return SearchResults(found[query] for query in distinct)

    async def asearch(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
    ) -> list[dict[str, Any]]:
        """As `search`, to be awaited: a thread computes it, and the event loop goes on.

        A search whose task is cancelled ends after the step it is at.
        """
        found = await self.afind(
            query,
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=stages,
            aim=aim,
        )
        return found.hits

    async def afind(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
    ) -> SearchResult:
        """As `find`, to be awaited; see `asearch`."""
        search = self.steps(
            query,
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=stages,
            aim=aim,
        )
        return await awaited(search)

    async def asearch_many(
        self,
        queries: Texts,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
    ) -> list[SearchResult]:
        """As `search_many`, to be awaited; see `asearch`.

        Raises:
            ConfigError: A query is empty or no text; then none is searched.
        """
        distinct = checked_queries(queries)
        given = GivenOptions(
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=checked_stages(stages, self.stages),
            aim=aim,
        )
        searches = {query: self._begun(query, given) for query in dict.fromkeys(distinct)}
        results = await all_awaited(list(searches.values()), self._models.threads)
        found = dict(zip(searches, results, strict=True))
        return SearchResults(found[query] for query in distinct)

    def steps(
        self,
        query: str,
        *,
        top_k: int = 5,
        where: Where | None = None,
        min_score: float | None = None,
        candidates: int = 50,
        explain: bool = False,
        stages: Iterable[str] | None = None,
        aim: str | None = None,
    ) -> AnySearch:
        """As `find`, to be computed in steps between which others may have their turn."""
        given = GivenOptions(
            top_k=top_k,
            where=where,
            min_score=min_score,
            candidates=candidates,
            explain=explain,
            stages=None if stages is None else checked_stages(stages, self.stages),
            aim=aim,
        )
        return self._begun(query, given)

    def _begun(self, query: str, given: GivenOptions) -> AnySearch:
        """A search of one query, of which no step is done."""
        used = checked_stages(given.stages, self.stages)
        least = self.least_score(used, given.aim)
        options = SearchOptions(
            top_k=given.top_k,
            where={} if given.where is None else given.where,
            min_score=least if given.min_score is None else given.min_score,
            candidates=given.candidates,
            explain=given.explain,
            stages=used,
        )
        searched, measure = self._searched()
        return SearchSteps(searched, self._models, query, options, measure, self._tuned_score())

    def untuned_steps(self, query: str) -> SearchSteps:
        """A search with all stages by the score that the index has without being tuned."""
        searched, measure = self._searched()
        return SearchSteps(searched, self._models, query, SearchOptions(), measure)

    def _searched(self) -> tuple[SearchedRows, Callable[[], IndexFacts]]:
        """The rows as they are now, and what measures how alike they are."""
        segments = self._store.segments
        return SegmentRows(segments), lambda: self._measured(segments)

    def _tuned_score(self) -> TunedScore | None:
        """The score that the index was tuned to, read once for each tuning."""
        stored, known = self._store.tuning, self._tuned
        if stored is None:
            return None
        if known is None or known[0] is not stored:
            known = self._tuned = stored, tuned_score_of(stored)
        return known[1]

    def facts(self) -> IndexFacts:
        """How alike the rows are, as they are now."""
        return self._searched()[1]()

    def _measured(self, segments: tuple[Segment, ...]) -> IndexFacts:
        """How alike the rows are, measured once for each state of the index."""
        known = self._facts
        if known is None or known[0] is not segments:
            known = self._facts = segments, measure_facts(segments)
        return known[1]

    def refresh(self) -> bool:
        """Load what other processes have changed, and return whether there was anything."""
        return self._store.refresh()

    def rows(self) -> Iterator[dict[str, str]]:
        """Every row of the index, with its columns."""
        for segment in self._store.segments:
            for row in segment.given_rows:
                yield segment.cells.row(row)

    def duplicates(
        self, *, min_score: float = 0.9, advance: Advance = lambda done: None
    ) -> list[Duplicate]:
        """Rows that ask the same: with the same normalised question, or by the model's judgement.

        Args:
            min_score: The score from which two questions count as the same.
            advance: Called with the number of rows that are done.
        """
        check_min_score(min_score)
        return find_duplicates(
            self._store.segments, self._models, min_score=min_score, advance=advance
        )

    def size_bytes(self) -> dict[str, int]:
        """Bytes on disk by what they hold."""
        return folder_sizes(segment.folder for segment in self._store.segments)
