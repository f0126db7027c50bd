"""Needs of a plan, and when something else than softquery, or another part of it, is the answer."""

import math

from softquery.bench.sizing import Formulas, Need, Wanted

USED = 0.8
"""Share of cores' time that reaches the model in bulk work, as measured with Ray."""
BUSY = 0.6
"""Share of cores' time that requests may take, so that queues stay short."""
MONTH = 730.0
"""Hours of a month."""
MANY_PAIRS = 1e9
PROVEN_ROWS = 1e6
"""Stored questions up to which formulas were compared with what was measured."""
MOST_ROWS = 1e8
"""Stored questions beyond which a folder, and a single PostgreSQL, are the wrong place."""

ALL_PAIRS = (
    "if these pairs are all texts of one set beside all of another, do not score them: index one "
    "set and search it with the other, which compares a few dozen rows per text"
)
SPREAD = "more than one machine: --engine ray spreads files over a cluster and resumes by shard"
TOO_LARGE = (
    "one machine of this memory cannot hold the index: use machines with more of it, keep the rows "
    "in PostgreSQL or Milvus (--store), or leave encodings out (--encodings none)"
)
OTHER_ENGINE = (
    "for so many questions use an engine made for it, such as a cluster of Milvus, and let "
    "softquery rank what that recalls: the folder's formulas were not tried beyond a million rows"
)
UNTRIED = "beyond a million rows these figures are extrapolated"
SHARDS = "index it in parts, and search them as one: softquery serve --index 'parts/*.sq'"


def needs(formulas: Formulas, wanted: Wanted) -> tuple[list[Need], list[str]]:
    """What is needed, and advice.

    Args:
        formulas: Of a measured machine.
        wanted: What is to be done.
    """
    found: list[Need] = []
    notes: list[str] = []
    if wanted.pairs:
        found.append(_bulk(wanted, "match", *_match(formulas, wanted)))
        if wanted.pairs >= MANY_PAIRS:
            notes.append(ALL_PAIRS)
        if found[-1].machines > 1:
            notes.append(SPREAD)
    if wanted.questions:
        found.append(_bulk(wanted, "index", *_index(formulas, wanted)))
        takes_long = formulas.index_seconds(wanted.questions, wanted.words) > 3600 * wanted.hours
        takes_room = formulas.indexing_memory(wanted.questions, wanted.words) > wanted.memory
        if takes_long or takes_room:
            notes.append(SHARDS)
        if formulas.index_memory(wanted.questions, wanted.words) > wanted.memory:
            notes.append(TOO_LARGE)
        if wanted.questions > MOST_ROWS:
            notes.append(OTHER_ENGINE)
        elif wanted.questions > PROVEN_ROWS:
            notes.append(UNTRIED)
    if wanted.requests:
        found.append(_service(formulas, wanted))
    return found, notes


def _match(formulas: Formulas, wanted: Wanted) -> tuple[float, float, float]:
    memory = wanted.cores * max(
        each.memory for each in formulas.rates.cases if each.verb == "match"
    )
    seconds = formulas.match_seconds(wanted.pairs, wanted.words)
    return seconds, memory, formulas.match_disk(wanted.pairs, wanted.words)


def _index(formulas: Formulas, wanted: Wanted) -> tuple[float, float, float]:
    rows, words = wanted.questions, wanted.words
    disk = formulas.index_disk(rows, words)
    return formulas.index_seconds(rows, words), formulas.indexing_memory(rows, words), disk


def _bulk(wanted: Wanted, part: str, seconds: float, memory: float, disk: float) -> Need:
    """Work that is done once, by as few machines as finish it in time."""
    cores = wanted.cores * USED
    machines = max(1, math.ceil(seconds / (3600 * wanted.hours * cores)))
    hours = seconds / (3600 * machines * cores)
    return Need(
        part=part,
        machines=machines,
        memory=memory / machines if part == "index" else memory,
        disk=disk,
        hours=hours,
        core_hours=seconds / 3600,
        cost=machines * hours * wanted.price,
    )


def _service(formulas: Formulas, wanted: Wanted) -> Need:
    """Machines that all hold the whole index, or none, for a month."""
    if wanted.questions:
        part, seconds = "search", formulas.search_seconds(wanted.questions)
        memory = formulas.index_memory(wanted.questions, wanted.words)
        disk = formulas.index_disk(wanted.questions, wanted.words)
    else:
        part, seconds = "rank", formulas.rank_seconds(wanted.candidates, wanted.words)
        memory, disk = float(formulas.base_memory), 0.0
    machines = max(1, math.ceil(wanted.requests * seconds / (wanted.cores * BUSY)))
    return Need(
        part=part,
        machines=machines,
        memory=memory,
        disk=machines * disk,
        hours=MONTH,
        core_hours=wanted.requests * seconds * MONTH,
        cost=machines * MONTH * wanted.price,
    )
