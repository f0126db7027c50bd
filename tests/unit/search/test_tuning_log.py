"""Tuning an index by a log of queries that nobody labelled."""

import shutil

import numpy as np
import pytest

from small_tuning import ROWS, labelled_queries
from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings
from softquery.search.aims import DEFAULT_AIM
from softquery.search.score.log_offset import LogOffset
from softquery.search.score.row_score import shipped_score
from softquery.search.tuning.log_estimate import estimate, own_threshold, threshold_interval

NO_OFFSET = LogOffset([0.0] * 9, [1.0] * 9, [0.0] * 9, 0.0)
LOG = [row["query"] for row in labelled_queries()]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An index, untuned and tuned by a log, and what tuning reported."""
    folder = tmp_path_factory.mktemp("log")
    Index.build(ROWS, folder / "plain.sq", model="match-en", threads=1)
    shutil.copytree(folder / "plain.sq", folder / "tuned.sq")
    (folder / "log.txt").write_text("\n".join(LOG), encoding="utf-8")
    report = Index.open(folder / "tuned.sq", threads=1).tune(folder / "log.txt", force=True)
    return folder, report


@pytest.fixture
def plain(built, tmp_path):
    shutil.copytree(built[0] / "plain.sq", tmp_path / "faq.sq")
    return Index.open(tmp_path / "faq.sq", threads=1)


def test_scores_follow_the_log_and_rows_keep_their_order(built):
    folder, report = built
    plain, tuned = (Index.open(folder / name, threads=1) for name in ("plain.sq", "tuned.sq"))
    assert (report.kind, report.num_queries, report.is_changed) == ("log", len(LOG), True)
    assert tuned.tuning == report
    assert tuned.min_score == report.min_score
    assert any("labels alone measure it" in line for line in report.notes)
    shift = estimate(np.array(_best(plain)), np.ones(len(LOG)), shipped_score().log).shift
    for query in LOG[:5]:
        before, after = (each.find(query, min_score=0.0).hits for each in (plain, tuned))
        assert [hit["id"] for hit in before] == [hit["id"] for hit in after]
        odds = [np.log(hits[0]["score"] / (1 - hits[0]["score"])) for hits in (before, after)]
        assert odds[1] - odds[0] == pytest.approx(shift, abs=1e-3)


def _best(index):
    return [index.find(query, min_score=0.0).hits[0]["score"] for query in LOG]


def test_undo_and_dry_run_leave_the_index_as_it_was(plain):
    before = (plain.path / "manifest.json").read_bytes()
    with plain._store.writing():
        report = Index.open(plain.path, threads=1).tune(
            [{"query": each} for each in LOG], dry_run=True
        )
    assert not report.is_changed
    assert (plain.path / "manifest.json").read_bytes() == before
    least = plain.min_score
    plain.tune([{"query": each} for each in LOG], force=True)
    assert plain.tuning is not None
    plain.untune()
    assert (plain.min_score, plain.tuning) == (least, None)


def test_a_query_counts_as_often_as_it_was_asked(plain):
    once = plain.tune([{"query": each} for each in LOG], dry_run=True)
    often = plain.tune([{"query": each} for each in [*LOG, *[LOG[0]] * 500]], dry_run=True)
    assert once.num_queries == often.num_queries == len(LOG)
    assert once.figures["answered"] != often.figures["answered"]


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (LOG[:1], "1 different query"),
        (LOG[:1] * 1000, "1 different query"),
        (LOG[:19] + [f"  {LOG[0]} "], "19 different queries"),
    ],
)
def test_too_few_different_queries_are_refused(plain, log, found):
    with pytest.raises(InputError) as caught:
        plain.tune([{"query": each} for each in log])
    expected = "a log needs at least 20 different queries that the index reads"
    assert str(caught.value) == f"the data: {expected}, found {found}"
    assert plain.tuning is None


def test_an_empty_log_and_a_bad_aim_are_refused(plain, tmp_path):
    (tmp_path / "log.txt").write_text("")
    with pytest.raises(InputError, match="log.txt: is empty"):
        plain.tune(tmp_path / "log.txt")
    with pytest.raises(ConfigError, match="aim is 'much'"):
        plain.tune([{"query": each} for each in LOG], aim="much")


def test_where_all_of_a_log_reaches_the_aim_nothing_changes():
    scores, weights = np.full(300, 0.97), np.ones(300)
    found = estimate(scores, weights, NO_OFFSET)
    assert own_threshold(found, scores, weights, 0.6, DEFAULT_AIM) == pytest.approx(0.6, abs=1e-3)
    low, high = threshold_interval(scores, weights, 0.6, DEFAULT_AIM, NO_OFFSET)
    assert low == pytest.approx(high)


@pytest.mark.parametrize("offset", [NO_OFFSET, shipped_score().log])
def test_answers_are_as_right_as_their_scores_let_expect(offset):
    draw = np.random.default_rng(1)
    scores = np.concatenate([draw.uniform(0.05, 0.6, 300), draw.uniform(0.9, 1, 100)])
    weights = np.ones(400)
    found = estimate(scores, weights, offset)
    least = own_threshold(found, scores, weights, 0.6, DEFAULT_AIM)
    given = found.probabilities(scores[scores >= least - 1e-4])
    assert given.mean() >= min(DEFAULT_AIM.value, given.max()) - 0.01


def test_an_index_without_the_learned_score_is_refused(model, tmp_path):
    settings = IndexSettings(vectors="words", score="fused")
    index = Index.build(ROWS, tmp_path / "old.sq", model=model, settings=settings, threads=1)
    with pytest.raises(ConfigError, match="a log tells of learned scores alone"):
        index.tune([{"query": each} for each in LOG])


def test_queries_that_no_model_reads_are_left_out(tmp_path):
    rows = [{"question": f"How do I reset password {number}?"} for number in range(5)]
    index = Index.build(rows, tmp_path / "faq.sq", model="match-en", threads=1)
    read = [{"query": f"how do I change setting {number} of my account"} for number in range(20)]
    foreign = [{"query": f"怎么重置第{number}个密码？"} for number in range(9)]
    report = index.tune(read + foreign, dry_run=True)
    assert report.num_queries == 20
    assert any(line.startswith("9 queries are left out: no model") for line in report.notes)
    with pytest.raises(InputError, match="found 0 different queries"):
        index.tune(foreign * 5)
