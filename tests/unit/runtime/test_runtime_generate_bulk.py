"""Sources that cannot keep to what is asked are named by their row, or left out."""

import json

import pytest

pytest.importorskip("torch", reason="random weights need the extra [train]")

from small_generators import make_generator
from softquery.decoding import Greedy
from softquery.errors import InputError
from softquery.files import Row
from softquery.runtime import GenerateRequest, load_generator
from softquery.runtime.bulk import BulkAnswers, answer_rows, stream_answers
from softquery.runtime.generate.model import CHUNK
from softquery.runtime.generate.request import read_sources

ROWS = [
    Row(values={"source": text}, source="lines.txt", number=number)
    for number, text in enumerate(["w1 w2", "w3", "w4 w5"], 1)
]


@pytest.fixture(scope="module")
def poet(tmp_path_factory):
    return load_generator(
        make_generator(tmp_path_factory.mktemp("poet") / "b", "seq2seq", form="couplet")
    )


def request(**asked):
    return GenerateRequest(strategy=Greedy(), **asked)


def answers(poet, **asked):
    return BulkAnswers(poet, request(**asked))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"prefix": "w3"}, "the prefix 'w3' breaks the rules at its token 'w3'"),
        ({"require": ("w3",)}, "token 'w3' is required, but not allowed"),
        ({"prefix": "w8 w9"}, "the prefix has 2 tokens, more than the longest length, 1"),
    ],
    ids=str,
)
def test_a_source_that_contradicts_what_is_asked_is_named(poet, asked, said):
    with pytest.raises(InputError) as caught:
        list(poet.rows_within_rules(ROWS, request(**asked)))
    assert str(caught.value) == f"lines.txt, row 2: {said}"
    told = []
    kept = list(poet.rows_within_rules(ROWS, request(**asked), told.append))
    assert [row.number for row in kept] == [1, 3]
    assert [(error.row, error.message) for error in told] == [(2, said)]
    assert len(list(answers(poet, **asked).lines(kept))) == 2


def test_words_that_no_source_could_keep_to_stop_the_run(poet):
    with pytest.raises(InputError, match="^banned: the model's vocabulary does not hold 'zebra'"):
        list(poet.rows_within_rules(ROWS, request(ban=("zebra",)), lambda error: None))


def test_another_request_does_not_go_on_with_the_same_file(poet, tmp_path):
    output = tmp_path / "answers.jsonl"

    def broken():
        yield from ROWS[:1] * CHUNK
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_rows(answers(poet), broken(), output)
    with pytest.raises(InputError, match="was written with another model, backend or options"):
        answer_rows(answers(poet, ban=("w3",)), iter(ROWS), output)


def test_rules_are_made_once_and_may_be_forgotten_meanwhile(poet, monkeypatch):
    (source,), request = read_sources(["w1 w2"], poet.source_pipeline), GenerateRequest()

    class Forgetful(dict):
        def __setitem__(self, key, value):
            """As if another thread found it full."""

    assert poet.rules(source, request) is poet.rules(source, request)
    monkeypatch.setattr(poet.rules, "_made", Forgetful())
    assert poet.rules(source, request).max_length == 2


NO_TEXT = "the rules leave no text for this source"
MANY = 2 * CHUNK + 9
HOPELESS = [3, CHUNK, CHUNK + 7, MANY]
"""Rows with more different words than a line may hold that has none of them; the last is one."""


def many_rows(count=MANY):
    hopeless = " ".join(f"w{number}" for number in range(20))
    texts = [hopeless if number in HOPELESS else f"w{number % 7} w{number % 5}" for number in
             range(1, count + 1)]  # fmt: skip
    return [Row({"source": text}, number, "lines.txt") for number, text in enumerate(texts, 1)]


class Noted:
    """Bad rows, and what was kept of them."""

    def __init__(self):
        self.rows, self.kept = [], False

    def add(self, error):
        self.rows.append((error.row, error.message))

    def keep(self):
        self.kept = True


@pytest.fixture(scope="module")
def choosy(poet):
    """Answers with few words, so that long sources have none."""
    banned = tuple(f"w{number}" for number in range(20, 96))
    return BulkAnswers(poet, GenerateRequest(strategy=Greedy(), ban=banned))


def test_a_source_without_a_text_stops_the_run(choosy, tmp_path):
    with pytest.raises(InputError, match=f"^lines.txt, row 3: {NO_TEXT}$"):
        answer_rows(choosy, many_rows(), tmp_path / "out.jsonl")
    with pytest.raises(InputError, match=f"^lines.txt, row 3: {NO_TEXT}$"):
        stream_answers(choosy, many_rows(), print)
    assert not list(tmp_path.iterdir())


def test_a_source_without_a_text_can_be_left_out(choosy, tmp_path):
    output, noted = tmp_path / "out.jsonl", Noted()
    result = answer_rows(choosy, many_rows(), output, bad=noted)
    assert noted.rows == [(number, NO_TEXT) for number in HOPELESS]
    assert noted.kept
    assert (result.num_rows, result.num_resumed) == (MANY - len(HOPELESS), 0)
    records = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    wanted = [row.values["source"] for row in many_rows() if row.number not in HOPELESS]
    assert [record["source"] for record in records] == wanted
    assert all(set(record) == {"source", "text", "score"} for record in records)
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    printed, told = [], Noted()
    stream_answers(choosy, many_rows(), printed.append, told)
    assert "\n".join(printed) + "\n" == output.read_text(encoding="utf-8")
    assert told.rows == noted.rows


@pytest.mark.parametrize("count", [CHUNK, CHUNK + 9, MANY])
def test_a_stopped_run_goes_on_with_the_same_rows_left_out(choosy, tmp_path, count):
    def stopping():
        yield from many_rows()[:count]
        raise KeyboardInterrupt

    whole, noted = tmp_path / "whole.jsonl", Noted()
    answer_rows(choosy, many_rows(), whole, bad=noted)
    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(choosy, stopping(), output, bad=Noted())
    again = Noted()
    result = answer_rows(choosy, many_rows(), output, bad=again)
    before = count // CHUNK * CHUNK
    assert result.num_resumed == before - sum(number <= before for number in HOPELESS)
    assert output.read_bytes() == whole.read_bytes()
    assert again.rows == noted.rows
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "whole.jsonl"]


def test_rows_left_out_before_stop_a_run_that_shall_stop(choosy, tmp_path):
    def stopping():
        yield from many_rows()[:CHUNK]
        raise KeyboardInterrupt

    output = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        answer_rows(choosy, stopping(), output, bad=Noted())
    with pytest.raises(InputError, match=f"^lines.txt, row 3: {NO_TEXT}$"):
        answer_rows(choosy, many_rows(), output)


def test_a_row_left_out_that_was_repaired_is_named(choosy, tmp_path):
    def stopping():
        yield from many_rows()[:CHUNK]
        raise KeyboardInterrupt

    output, rows = tmp_path / "out.jsonl", many_rows()
    with pytest.raises(KeyboardInterrupt):
        answer_rows(choosy, stopping(), output, bad=Noted())
    rows[2] = Row({"source": "w1"}, 3, "lines.txt")
    with pytest.raises(InputError, match="^lines.txt, row 3: is not the row that was answered in"):
        answer_rows(choosy, rows, output, bad=Noted())
