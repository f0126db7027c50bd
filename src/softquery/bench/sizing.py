"""`softquery plan`: from rows, words and requests to machines, memory, disk, hours and cost.

Every formula has a few constants, which follow from what `softquery bench rates` measured:

    match    seconds(n, w) = start + n·(a + b·w)                    bytes(n, w) = n·(c + d·w)
    index    seconds(n, w) = start + n·(a + b·w) + g·n·log2(n)      bytes(n, w) = n·(c + d·w)
    search   seconds(n) = a + b·log2(n)           memory(n, w) = base + bytes(n, w)
    rank     seconds(m, w) = a + m·(b + c·w)

n rows, w words per text, m candidates; g is the graph of vectors, which is there from 4,096 rows
on. Seconds are those of one core.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from softquery.bench.rates import LONG, SHORT, MeasuredCase, Rates
from softquery.errors import ConfigError, InputError

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
        _ = self.match_row, self.match_bytes, self.index_row, self.index_bytes
        _ = self.graph, self.search_line, self.rank_text, self.rank_start

    def match_seconds(self, rows: float, words: float) -> float:
        """To score so many pairs."""
        return self._start("match") + rows * self.match_row.at(words)

    def match_disk(self, rows: float, words: float) -> float:
        """Of the scored pairs, as JSONL with their texts."""
        return rows * self.match_bytes.at(words)

    def index_seconds(self, rows: float, words: float) -> float:
        """To index so many questions in one folder."""
        graph = self.graph * rows * math.log2(rows) if rows > GRAPH_ROWS else 0.0
        return self._start("index") + rows * self.index_row.at(words) + graph

    def index_disk(self, rows: float, words: float) -> float:
        """Of the index."""
        return rows * self.index_bytes.at(words)

    def index_memory(self, rows: float, words: float) -> float:
        """Of a process that searches it: all of the index is mapped, and read sooner or later."""
        return self.base_memory + self.index_disk(rows, words)

    def search_seconds(self, rows: float) -> float:
        """Of a query."""
        base, per_doubling = self.search_line
        return base + per_doubling * math.log2(max(2.0, rows))

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
    def graph(self) -> float:
        """Seconds per row and doubling of rows."""
        largest = self._cases("index", SHORT)[-1]
        flat = self._start("index") + largest.rows * self.index_row.at(SHORT)
        return max(0.0, (largest.seconds - flat) / (largest.rows * math.log2(largest.rows)))

    @cached_property
    def search_line(self) -> tuple[float, float]:
        """Seconds of a query to one row, and what each doubling of rows adds."""
        few, many = self._cases("search", SHORT)[:2]
        doublings = math.log2(many.rows / few.rows)
        per_doubling = max(0.0, (many.seconds - few.seconds) / doublings)
        return many.seconds - per_doubling * math.log2(many.rows), per_doubling

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

    def _cases(self, verb: str, words: int) -> list[MeasuredCase]:
        cases = self.rates.cases
        found = [each for each in cases if (each.verb, each.words) == (verb, words)]
        if len(found) < 2:
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
