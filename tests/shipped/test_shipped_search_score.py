"""The score of search is judged by trees that have not seen the set."""

import json
from dataclasses import replace

import numpy as np
import pytest
from score_cases import Case, learned_case, pair_case
from score_records import Record, read_records, record, write_records
from score_trees import TreeOptions, fit_trees
from search_score import Answer, auc, calibrate, expected_error, fit_all, judged, with_stages

from softquery.search.aims import Aim
from softquery.search.query.stages import STAGES, shown_stages
from softquery.search.score.index_facts import IndexFacts
from softquery.search.score.row_score import read_score
from softquery.search.score.signals import Signals

OPTIONS = TreeOptions(num_trees=6, depth=2)
SETS = ("books", "trains", "tea")


def toy_records(seed: int = 1, count: int = 60) -> list[Record]:
    """Queries of which a high cosine means a right row."""
    draw = np.random.default_rng(seed)
    records = []
    for name in SETS:
        for number in range(count):
            cosine = draw.uniform(0, 1, 6)
            signals = Signals(
                cosine=cosine,
                words=draw.uniform(0.01, 1, 6),
                matcher=draw.normal(0, 1, 6),
                answer=np.arange(6),
                row_length=draw.integers(5, 50, 6).astype(np.float64),
                query_length=int(draw.integers(5, 50)),
                chinese=0.0,
                facts=IndexFacts(6, 0.5, 0.2, 0.1),
            )
            right = (np.arange(6) == cosine.argmax()) & (cosine > 0.8)
            case = "report" if number % 4 == 0 else "many"
            records.append(Record("en", name, case, signals, right, bool(right.any())))
    return records


@pytest.fixture(scope="module")
def judgement(tmp_path_factory):
    folder = tmp_path_factory.mktemp("left-out")
    score, by_stages = fit_all(toy_records(), folder, OPTIONS, 1)
    return folder, score, by_stages


def test_a_set_does_not_judge_itself(judgement, tmp_path):
    folder, _, _ = judgement
    spoilt = [
        replace(each, right=~each.right, is_answerable=True) if each.set == "tea" else each
        for each in toy_records()
    ]
    fit_all(spoilt, tmp_path, OPTIONS, 1)
    before, after = (read_score(place / "tea.json").trees for place in (folder, tmp_path))
    np.testing.assert_array_equal(before.leaves, after.leaves)
    np.testing.assert_array_equal(before.thresholds, after.thresholds)
    before, after = (read_score(place / "books.json").trees for place in (folder, tmp_path))
    assert before.leaves.tolist() != after.leaves.tolist()


def test_it_learns_what_makes_a_row_right(judgement):
    folder, score, by_stages = judgement
    found = judged(by_stages[shown_stages(STAGES)], folder, shown_stages(STAGES))
    assert set(found) == {f"{name}: {case}" for name in SETS for case in ("many", "report")}
    assert min(each["auc"] for each in found.values()) > 0.9
    assert set(score.calibrations) == set(by_stages)
    curve = score.calibrations[shown_stages(STAGES)].curve
    met = curve.scores.index(curve.threshold(Aim("precision", 0.9)))
    assert curve.precision[met] >= 0.9
    met = curve.scores.index(curve.threshold(Aim("coverage", 0.99)))
    assert curve.coverage[met] >= 0.99 > curve.coverage[met + 1]


def test_stages_that_are_left_out_are_missing():
    first = toy_records()[0]
    seen = with_stages(first, ("vectors",)).signals
    assert np.isnan(seen.words).all()
    assert np.isnan(seen.matcher).all()
    np.testing.assert_array_equal(seen.cosine, first.signals.cosine)


def test_only_rows_with_a_word_are_found_by_words():
    first = toy_records()[0]
    words = first.signals.words.copy()
    words[:4] = 0
    first = replace(first, signals=replace(first.signals, words=words))
    assert len(with_stages(first, ("words",)).signals) == 2
    assert len(with_stages(first, ("words", "vectors")).signals) == 6


def test_records_survive_their_file(tmp_path):
    records = toy_records(count=5)
    write_records(tmp_path / "r.npz", records)
    for before, after in zip(records, read_records(tmp_path / "r.npz"), strict=True):
        assert (before.language, before.set, before.case) == (after.language, after.set, after.case)
        np.testing.assert_allclose(before.signals.cosine, after.signals.cosine, atol=1e-6)
        np.testing.assert_array_equal(before.right, after.right)
        assert before.signals.facts == after.signals.facts


def test_a_case_leaves_whole_intents_out():
    stored = [(f"text {label} {n}", f"intent {label}") for label in range(10) for n in range(8)]
    asked = [(f"query {label} {n}", f"intent {label}") for label in range(10) for n in range(3)]
    asked.append(("far away", "oos"))
    case = learned_case("en", "toy", "five", stored, asked, ["of another set"], 5, 1)
    answers = {answer for _, answer in case.rows}
    assert len(answers) == 8
    assert len(case.rows) == 8 * 5
    unanswerable = {text for text, answer in case.queries if not answer}
    gone = {text for text, answer in asked if answer not in answers}
    assert unanswerable == gone | {"of another set"}
    assert {answer for _, answer in case.queries if answer} == answers


def test_paraphrases_of_a_cluster_are_one_answer(tmp_path):
    folder = tmp_path / "pairs" / "toy"
    folder.mkdir(parents=True)
    lines = ["sentence1\tsentence2\tlabel", "a\tb\t1", "b\tc\t1", "d\te\t1", "f\tg\t0", "h\ti\t1"]
    (folder / "dev.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    case = pair_case(tmp_path, "en", "toy", 2, 1)
    assert len(case.rows) == 2
    assert len({answer for _, answer in case.rows}) == 2
    texts = {text for text, _ in case.rows} | {text for text, _ in case.queries}
    assert not texts & {"f", "g"}
    assert [answer for _, answer in case.queries].count("") == 1


def test_a_case_is_searched(tmp_path):
    from small_sentence_encoders import make_sentence_encoder

    encoder = str(make_sentence_encoder(tmp_path / "encoder"))
    rows = [("reset my password", "a"), ("forgot password", "a"), ("where is my parcel", "b")]
    queries = [("how do i reset my password", "a"), ("what is the weather", "")]
    first, second = record(Case("en", "toy", "many", rows, queries), encoder)
    assert sorted(first.right.tolist()) == [False, True, True]
    assert not second.right.any()
    assert (first.is_answerable, second.is_answerable) == (True, False)
    assert first.signals.facts.num_rows == 3


def test_trees_lower_the_loss_and_rise_where_asked():
    draw = np.random.default_rng(2)
    rows = draw.normal(size=(4000, 3))
    right = (rows[:, 0] + 0.3 * draw.normal(size=4000) > 0).astype(np.float64)
    rows[::7, 1] = np.nan
    trees = fit_trees(rows, right, np.ones(4000), TreeOptions(num_trees=30, share=1), rising=[0])
    chance = 1 / (1 + np.exp(-trees.sums(rows)))
    assert auc(chance, right) > 0.97
    assert expected_error(chance, right) < 0.1
    higher = rows + [0.5, 0, 0]
    assert (trees.sums(higher) >= trees.sums(rows) - 1e-9).all()


def test_calibration_finds_the_share_that_is_right():
    draw = np.random.default_rng(3)
    total = draw.normal(0, 2, 4000)
    right = draw.uniform(size=4000) < 1 / (1 + np.exp(-(0.5 * total - 1)))
    found = [
        Answer("toy", "many", float(t), bool(r), True) for t, r in zip(total, right, strict=True)
    ]
    calibration = calibrate(found)
    assert calibration.slope == pytest.approx(0.5, abs=0.08)
    assert calibration.offset == pytest.approx(-1, abs=0.12)
    assert json.dumps(calibration.curve.precision)
    assert list(calibration.curve.coverage) == sorted(calibration.curve.coverage, reverse=True)
