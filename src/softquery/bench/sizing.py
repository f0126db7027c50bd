"""`softquery plan`: from rows, words and requests to machines, memory, disk, hours and cost.

Every formula has a few constants, which follow from what `softquery bench rates` measured:

    match    seconds(n, w) = start + n·(a + b·w)                    bytes(n, w) = n·(c + d·w)
    index    seconds(n, w) = start + n·(a + b·w + e) + graph(n)     bytes(n, w) = n·(c + d·w)
             memory(n, w) = f + g·w + h·bytes(n, w)
    search   seconds(n) = a + (b + c)·n           memory(n, w) = base + bytes(n, w)
    rank     seconds(m, w) = a + m·(b + c·w)      memory = base

n rows, w words per text, m candidates. c is there as long as a search looks at every vector, e from
20,000 rows on, which are stored in parts and merged; the graph of vectors from 4,096 rows on. What
it takes was measured at some sizes, each twice the one before. In between, its logarithm grows with
that of n. Beyond, a row costs by as much more with every doubling as with the last one measured.
Seconds are those of one core.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from softquery.bench.rates import LONG, SHORT, MeasuredCase, Rates
from softquery.errors import ConfigError, InputError
from softquery.search.changes.building import COMMIT_ROWS
from softquery.search.storage.vector_scan import SCANNED_ROWS

GRAPH_ROWS = 4096
"""Up to so many vectors are compared one by one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PerText:
    """What a text costs: a share of its own and one per word."""

    base: float
    per_word: float

    @classmethod
    def through(cls, short: float, long: float) -> "PerText":
        """The line through what was measured at both lengths."""
        per_word = max(0.0, (long - short) / (LONG - SHORT))
        return cls(base=short - SHORT * per_word, per_word=per_word)

    def at(self, words: float) -> float:
        """What a text of so many words costs."""
        return max(0.0, self.base + self.per_word * words)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchLine:
    """Seconds of a query to no row, and what each row adds by its words and by its vector."""

    base: float
    per_row: float
    per_vector: float


class GraphGrowth:
    """Seconds of a graph by its rows.

    A row costs more the larger the graph is: its way through the graph is longer, and what it meets
    there lies in no cache.

    Args:
        cases: What was measured at growing sizes, each twice the one before.
    """

    def __init__(self, cases: Sequence[MeasuredCase]) -> None:
        self.rows = [float(each.rows) for each in cases]
        self.spent = [each.seconds for each in cases]
        self.rates = [
            (later - earlier) / (many - few)
            for (earlier, later), (few, many) in zip(
                pairwise(self.spent), pairwise(self.rows), strict=True
            )
        ]

    def seconds(self, rows: float) -> float:
        """To build the graph of so many rows; there is none up to a few thousand."""
        if rows <= GRAPH_ROWS:
            return 0.0
        if rows > self.rows[-1]:
            return self._beyond(rows)
        upper = max(1, bisect_left(self.rows, rows))
        few, many = self.rows[upper - 1 : upper + 1]
        earlier, later = self.spent[upper - 1 : upper + 1]
        exponent = math.log(later / earlier) / math.log(many / few)
        return earlier * math.pow(rows / few, exponent)

    def _beyond(self, rows: float) -> float:
        size, spent, rate = self.rows[-1], self.spent[-1], self.rates[-1]
        step = max(0.0, self.rates[-1] - self.rates[-2])
        while size < rows:
            rate += step
            spent += rate * (min(2 * size, rows) - size)
            size *= 2
        return spent


class Formulas:
    """Seconds and bytes as functions of rows and words.

    Args:
        rates: What was measured.

    Raises:
        ConfigError: Cases that the constants follow from were not measured.
    """

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self.base_memory = self._cases("rank", SHORT)[0].memory
        self.graph_growth = GraphGrowth(self._cases("graph", SHORT, least=3))
        _ = self.match_row, self.match_bytes, self.index_row, self.index_bytes
        _ = self.merged_row, self.search_line, self.rank_text, self.rank_start
        _ = self.search_memory

    def match_seconds(self, rows: float, words: float) -> float:
        """To score so many pairs."""
        return self._start("match") + rows * self.match_row.at(words)

    def match_disk(self, rows: float, words: float) -> float:
        """Of the scored pairs, as JSONL with their texts."""
        return rows * self.match_bytes.at(words)

    def index_seconds(self, rows: float, words: float) -> float:
        """To index so many questions in one folder."""
        row = self.index_row.at(words) + (self.merged_row if rows > COMMIT_ROWS else 0.0)
        return self._start("index") + rows * row + self.graph_growth.seconds(rows)

    def index_disk(self, rows: float, words: float) -> float:
        """Of the index."""
        return rows * self.index_bytes.at(words)

    def index_memory(self, rows: float, words: float) -> float:
        """Of a process that searches it: all of the index is mapped, and read sooner or later."""
        return self.search_memory + self.index_disk(rows, words)

    def indexing_memory(self, rows: float, words: float) -> float:
        """Of the process that makes the index: rows, vectors and graph, and the files it maps."""
        smallest, few, *_, many = self._cases("index", SHORT, least=3)
        start = PerText.through(smallest.memory, self._cases("index", LONG)[0].memory).at(words)
        per_byte = max(0.0, (many.memory - few.memory) / (many.disk - few.disk))
        return start + per_byte * self.index_disk(rows, words)

    def search_seconds(self, rows: float) -> float:
        """Of a query: every row with one of its words is looked at.

        So is every vector, unless there are so many that a graph finds the nearest.
        """
        line = self.search_line
        looked_at = rows if rows <= SCANNED_ROWS else 0.0
        return line.base + line.per_row * rows + line.per_vector * looked_at

    def rank_seconds(self, count: float, words: float) -> float:
        """Of a query beside so many candidates that are sent with it."""
        return self.rank_start + count * self.rank_text.at(words)

    @cached_property
    def match_row(self) -> PerText:
        """Seconds per pair."""
        return PerText.through(*(self._slope("match", words) for words in (SHORT, LONG)))

    @cached_property
    def match_bytes(self) -> PerText:
        """Bytes per pair."""
        return self._bytes("match")

    @cached_property
    def index_row(self) -> PerText:
        """Seconds per question, the graph aside."""
        return PerText.through(*(self._slope("index", words) for words in (SHORT, LONG)))

    @cached_property
    def index_bytes(self) -> PerText:
        """A graph's bytes are those of every row, as it is there in all but small indexes."""
        short, long = self._cases("index", SHORT), self._cases("index", LONG)
        flat = PerText.through(short[1].disk / short[1].rows, long[1].disk / long[1].rows)
        graph = short[-1].disk / short[-1].rows - flat.at(SHORT)
        return PerText(base=flat.base + graph, per_word=flat.per_word)

    @cached_property
    def merged_row(self) -> float:
        """Seconds per question to merge the parts in which many are stored."""
        largest = self._cases("index", SHORT)[-1]
        once = self._start("index") + largest.rows * self.index_row.at(SHORT)
        graph = self.graph_growth.seconds(largest.rows)
        return max(0.0, (largest.seconds - once - graph) / largest.rows)

    @cached_property
    def search_line(self) -> "SearchLine":
        """What a query costs; a search by words tells what its words do."""
        few_words, many_words = self._cases("words", SHORT)[:2]
        few, many = self._cases("search", SHORT)[:2]
        rows = many.rows - few.rows
        per_row = max(0.0, (many_words.seconds - few_words.seconds) / rows)
        per_vector = max(0.0, (many.seconds - few.seconds) / rows - per_row)
        base = max(0.0, many.seconds - (per_row + per_vector) * many.rows)
        return SearchLine(base=base, per_row=per_row, per_vector=per_vector)

    @cached_property
    def search_memory(self) -> float:
        """Of a process that searches, its index aside."""
        few = self._cases("search", SHORT)[0]
        stored = [each.disk for each in self._cases("index", SHORT) if each.rows == few.rows]
        return float(max(0, few.memory - sum(stored)))

    @cached_property
    def rank_text(self) -> PerText:
        """Seconds per candidate."""
        return PerText.through(*(self._slope("rank", words) for words in (SHORT, LONG)))

    @cached_property
    def rank_start(self) -> float:
        """Seconds of a ranking without candidates."""
        few = self._cases("rank", SHORT)[0]
        return max(0.0, few.seconds - few.rows * self.rank_text.at(SHORT))

    def _start(self, verb: str) -> float:
        few = self._cases(verb, SHORT)[0]
        row = self.match_row if verb == "match" else self.index_row
        return max(0.0, few.seconds - few.rows * row.at(SHORT))

    def _slope(self, verb: str, words: int) -> float:
        """Seconds per row, from the two smallest cases."""
        few, many = self._cases(verb, words)[:2]
        return (many.seconds - few.seconds) / (many.rows - few.rows)

    def _bytes(self, verb: str) -> PerText:
        found = [self._cases(verb, words)[1] for words in (SHORT, LONG)]
        return PerText.through(*(each.disk / each.rows for each in found))

    def _cases(self, verb: str, words: int, *, least: int = 2) -> list[MeasuredCase]:
        cases = self.rates.cases
        found = [each for each in cases if (each.verb, each.words) == (verb, words)]
        if len(found) < least:
            raise ConfigError(f"the rates lack {verb} at {words} words; measure them anew")
        return sorted(found, key=lambda each: each.rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be done, and by what machines.

    Attributes:
        pairs: To score once.
        questions: To store and search.
        requests: Per second: searches where questions are stored, otherwise rankings.
        candidates: Of a ranking.
        words: Per text.
        hours: In which work that is done once must be done.
        cores: Of a machine.
        memory: Bytes of a machine.
        price: Of a machine's hour.
    """

    pairs: float = 0
    questions: float = 0
    requests: float = 0
    candidates: int = 20
    words: float = SHORT
    hours: float = 24
    cores: int = 8
    memory: float = 32e9
    price: float = 0

    def __post_init__(self) -> None:
        if not (self.pairs or self.questions or self.requests):
            raise InputError("nothing to plan: name --pairs, --questions or --requests")
        for name in ("pairs", "questions", "requests", "price"):
            if not 0 <= getattr(self, name) <= 1e15:
                raise InputError(f"--{name} must be from 0 to 1e15, got {getattr(self, name)}")
        for name in ("candidates", "words", "hours", "cores", "memory"):
            if not 0 < getattr(self, name) <= 1e15:
                raise InputError(f"--{name} must be above 0, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """What a part of the work needs.

    Attributes:
        part: `match`, `index`, `search` or `rank`.
        machines: At once.
        memory: Bytes on each of them.
        disk: Bytes of all together.
        hours: On the clock; of a month where it never ends.
        core_hours: Of all cores together.
        cost: In the price's currency.
    """

    part: str
    machines: int
    memory: float
    disk: float
    hours: float
    core_hours: float
    cost: float
