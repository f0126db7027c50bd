"""What an evaluation says of an index, on questions whose answers are known."""

import pytest

from softquery.errors import InputError
from softquery.files import Row
from softquery.search import evaluate_index


def queries(*cells):
    return [
        Row(dict(zip(("query", "doc", "relevance"), each, strict=False)), number, "queries.tsv")
        for number, each in enumerate(cells, 2)
    ]


def test_every_stage_is_measured(index, rows):
    asked = queries(*((row["question"], row["id"]) for row in rows))
    report = evaluate_index(index, asked).report()
    assert report["n"] == len(rows)
    assert list(report["stages"]) == ["words", "vectors", "hybrid", "rerank"]
    assert report["used"] == ["words", "vectors", "rerank"]
    for stage in ("words", "vectors", "hybrid"):  # what is asked is what is stored
        assert report["stages"][stage]["mrr"] == 1
        assert report["stages"][stage]["recall@1"] == 1
    assert report["stages"]["rerank"]["recall@50"] == 1
    low, high = report["mrr_interval"]
    assert low <= report["mrr"] <= high
    assert set(report["milliseconds"]) == {"read", "vectors", "words", "rerank", "total"}
    assert all(each["p50"] <= each["p95"] for each in report["milliseconds"].values())


def test_answers_by_id_or_question_and_graded(index, rows):
    asked = queries(
        ("w1 w41", "r1", "2"),
        ("w1 w41", rows[2]["question"], "1"),
        ("w1 w41", "r3", "0"),
        ("w9", "r9"),
    )
    evaluation = evaluate_index(index, asked)
    assert [each.relevant for each in evaluation.queries] == [{"r1": 2, "r2": 1}, {"r9": 1}]
    assert evaluation.report()["n"] == 2


def test_what_should_not_be_answered(index):
    evaluation = evaluate_index(index, queries(("w1 w41 w81", "r1"), ("zebra", "")))
    answers = evaluation.report()["answers"]
    assert answers["rightly_unanswered"] == 1  # the index answers whatever it finds: here nothing
    assert answers["answered"] == 0.5
    assert evaluation.scores[1] == 0


def test_mistakes_are_the_surest_first(index, rows):
    asked = queries(*((row["question"], "r0") for row in rows[1:]))
    mistakes = evaluate_index(index, asked).mistakes()
    assert mistakes
    assert all(each["predicted"] != "r0" for each in mistakes)
    confidences = [each["confidence"] for each in mistakes]
    assert confidences == sorted(confidences, reverse=True)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("w1", "r99"), r"queries.tsv, row 2: doc 'r99' is neither an id nor a question"),
        (("w1", "r1", "-2"), r"row 2: relevance '-2' is not a number of at least 0"),
        (("w1", "r1", "nan"), r"row 2: relevance 'nan' is not a number of at least 0"),
    ],
)
def test_refusals(index, cells, said):
    with pytest.raises(InputError, match=said):
        evaluate_index(index, queries(cells))
    with pytest.raises(InputError, match="no queries"):
        evaluate_index(index, [])


def test_what_is_opened_once_is_no_part_of_the_times(index, monkeypatch):
    """The first question is asked twice, and timed once."""
    from softquery.search import index_evaluation

    asked, ask = [], index_evaluation._search

    def noted(index, text, *rest):
        asked.append(text)
        return ask(index, text, *rest)

    monkeypatch.setattr(index_evaluation, "_search", noted)
    found = evaluate_index(index, queries(("w1 w41 w81", "r1"), ("w2", "r2")))
    assert asked == ["w1 w41 w81", "w1 w41 w81", "w2"]
    assert len(found.seconds["total"]) == 2
