"""The page on faithful reasons shows what was measured, and its claims hold for every set."""

import json

import pytest

SCRIPT = "explain.faithfulness_page"


@pytest.fixture(scope="module")
def measured(script):
    return json.loads(script.PAGE.with_name("faithfulness.json").read_text(encoding="utf-8"))


def test_the_page_shows_what_was_measured(script, measured):
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.with_tables(page, script.tables(measured)) == page
    with pytest.raises(ValueError, match="no place for the table 'more'"):
        script.with_tables(page, {"more": ""})


def test_reasons_move_the_answer_further_in_every_set_and_sample(measured):
    assert list(measured["sets"]) == ["SNLI", "QQP", "LCQMC", "SST-2"]
    for name, some in measured["sets"].items():
        by_method = {(each["method"], each["words"]): each for each in some["figures"]}
        for (method, count), each in by_method.items():
            if method == "reasons":
                continue
            assert each["log_odds_of_reasons_above"][1] > 0, (name, method, count)
            ours = by_method["reasons", count]["log_odds_by_seed"]
            assert all(a > b for a, b in zip(ours, each["log_odds_by_seed"], strict=True))


def test_what_the_prose_says_of_three_words(script, measured):
    shares = {"reasons": [], "attention": [], "random": []}
    for some in measured["sets"].values():
        for each in some["figures"]:
            if each["words"] == 3 and each["method"] in shares:
                shares[each["method"]].append(round(100 * each["changed"][0]))
    assert {name: (min(each), max(each)) for name, each in shares.items()} == {
        "reasons": (55, 79), "attention": (19, 27), "random": (9, 22),
    }  # fmt: skip
