"""What a log of clicks says of queries, and how position bias is met."""

import json

import pytest

from small_tuning import ROWS
from softquery.errors import InputError
from softquery.files import Row
from softquery.search.tuning.known_answers import _clicked


class Rows:
    """What of an index a log is compared with."""

    def rows(self):
        return ROWS


def read(*lines):
    rows = [
        Row(dict(zip(("query", "shown", "chosen"), line, strict=True)), number, "log.tsv")
        for number, line in enumerate(lines, 2)
    ]
    known, notes = _clicked(Rows(), rows)
    return {each.query: each for each in known}, notes


def test_a_choice_counts_as_much_as_its_rank_and_those_above_were_passed_over():
    known, notes = read(("first", "r1|r2|r3", "r1"), ("third", "r1 r2 r3 r4 r5 r6", "r3"))
    assert (known["first"].weight, known["third"].weight) == (1.0, 3.0)
    assert known["first"].passed_over == frozenset()
    assert known["third"].passed_over == {"r1", "r2"}
    assert known["third"].relevant == {"r3"}
    assert notes == []


def test_low_choices_count_four_times_at_most():
    known, _ = read(("q", json.dumps([f"r{n}" for n in range(8)]), "r7"))
    assert known["q"].weight == 4.0


def test_what_is_chosen_high_up_by_chance_does_not_outweigh_what_is_looked_for():
    known, _ = read(*[("q", "r1|r2|r3|r4", "r4")] * 3, ("q", "r1|r2|r3|r4", "r1"))
    assert known["q"].relevant == {"r4"}
    assert "r1" in known["q"].passed_over


def test_nothing_chosen():
    once, notes = read(("q", "r1|r2", ""))
    assert once == {}
    assert notes == ["1 query is left out: nothing was chosen once, or too rarely"]
    twice, _ = read(("q", "r1|r2", ""), ("q", "r1|r2", ""))
    assert twice["q"].relevant == frozenset()
    rarely, _ = read(*[("q", "r1|r2", "")] * 3, ("q", "r1|r2", "r1"))
    assert rarely == {}
    nothing, notes = read(("q", "", ""))
    assert (nothing, notes) == ({}, [])


def test_rows_that_are_gone():
    known, notes = read(("q", "r1|old|r2", "r2"))
    assert known["q"].weight == 2.0
    assert notes == ["1 id that were shown are not in the index any more"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("q", "r1|r2", "r3"), "row 2: chosen 'r3' is not among what was shown"),
        (("q", "r1|old", "old"), "row 2: chosen 'old' is not an id of the index"),
        (("q", "[1, {}]", ""), "row 2: shown '\\[1, {}\\]' is no JSON list of ids"),
        (("q", "[r1", ""), "is no JSON list of ids"),
    ],
)
def test_bad_logs(line, said):
    with pytest.raises(InputError, match=said):
        read(line)
