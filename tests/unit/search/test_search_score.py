"""The learned score: a probability for each row by any stages, and a threshold with an aim."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery.errors import ConfigError, InputError
from softquery.search import STAGES, Index, IndexSettings
from softquery.search.query.first_cut import predicted_log_odds
from softquery.search.score.features import (
    MOST_SHARE,
    USUAL,
    circumstances_of,
    levels_of,
    shares_of,
)
from softquery.search.score.index_facts import IndexFacts, measure_facts
from softquery.search.score.row_score import (
    PHRASED,
    SCORE_FILE,
    best_rows,
    read_score,
    shipped_score,
    write_score,
)
from softquery.search.score.signals import Signals

SUBSETS = [("words",), ("vectors",), ("rerank",), ("words", "vectors"), ("words", "rerank")]
SUBSETS += [("vectors", "rerank"), STAGES]
ROWS = [
    {"id": "1", "question": "How do I reset my password?", "answer": "Choose Forgot password."},
    {"id": "2", "question": "How long does delivery take?", "answer": "Two days."},
    {"id": "3", "question": "How do I change my password?", "answer": "Under Settings."},
    {"id": "4", "question": "Where is my parcel?", "answer": "By the link in our e-mail."},
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A sentence encoder of random weights."""
    from small_sentence_encoders import make_sentence_encoder

    return str(make_sentence_encoder(tmp_path_factory.mktemp("encoder") / "model"))


@pytest.fixture
def faq(tmp_path, encoder):
    made = IndexSettings(vectors=encoder)
    return Index.build(ROWS, tmp_path / "faq.sq", model="match-en", settings=made, threads=1)


def drawn(seed: int, count: int, *, missing: tuple[str, ...] = ()) -> Signals:
    """Signals at random, some of them missing."""
    draw = np.random.default_rng(seed)
    values = {
        "cosine": draw.uniform(-1, 1, count),
        "centred": draw.uniform(-1, 1, count),
        "alike": draw.uniform(0, 1, count),
        "words": draw.uniform(0, 1, count),
        "matcher": draw.normal(0, 5, count),
    }
    if "cosine" in missing:
        missing = (*missing, "centred", "alike")
    return Signals(
        **{k: np.full(count, np.nan) if k in missing else v for k, v in values.items()},
        answer=draw.integers(0, max(1, count // 2), count),
        query_length=int(draw.integers(1, 500)),
        query_mean=math.nan if "cosine" in missing else float(draw.uniform(-1, 1)),
        chinese=float(draw.uniform()),
        facts=IndexFacts(int(draw.integers(1, 10**6)), *draw.uniform(-1, 1, 2), draw.uniform()),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.lists(st.sampled_from(["cosine", "words", "matcher"]), unique=True, max_size=2),
)
def test_scores_are_probabilities(seed, count, missing):
    signals = drawn(seed, count, missing=tuple(missing))
    stages = {"words": "words", "vectors": "cosine", "rerank": "matcher"}
    used = tuple(stage for stage in STAGES if stages[stage] not in missing)
    scores = shipped_score().of(signals, used)
    assert scores.shape == (count,)
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_the_order_of_rows_changes_nothing(seed, count):
    signals = drawn(seed, count)
    order = np.random.default_rng(seed + 1).permutation(count)
    names = ("cosine", "centred", "alike", "words", "matcher", "answer")
    moved = replace(signals, **{name: getattr(signals, name)[order] for name in names})
    scores = shipped_score().of(signals, STAGES)
    np.testing.assert_allclose(shipped_score().of(moved, STAGES), scores[order], atol=1e-9)


@pytest.mark.parametrize("stages", SUBSETS, ids=",".join)
@pytest.mark.parametrize("name", ["cosine", "centred", "words", "matcher"])
def test_what_speaks_for_a_row_never_lowers_it(name, stages):
    found = shipped_score().by_stages[",".join(stages)]
    for seed in range(20):
        signals = drawn(seed, 20)
        higher = getattr(signals, name).copy()
        higher[seed] += 0.5
        moved = replace(signals, **{name: higher})
        rise = (found.probabilities(moved) - found.probabilities(signals))[seed]
        assert rise >= -1e-12


@pytest.mark.parametrize("same_answer", [0.0, 0.05, 0.2, 0.9])
def test_rows_of_their_own_and_phrasings_have_their_own_weights(same_answer):
    """Between the two the log-odds are in between, so that one more phrasing changes little."""
    signals = drawn(1, 12)
    signals = replace(signals, facts=replace(signals.facts, same_answer=same_answer))
    found = shipped_score().by_stages["words,vectors,rerank"]
    single, phrased = found.single.log_odds(signals), found.phrased.log_odds(signals)
    assert np.abs(single - phrased).max() > 0.1
    share = min(1.0, same_answer / PHRASED)
    expected = 1 / (1 + np.exp(-(share * phrased + (1 - share) * single)))
    np.testing.assert_allclose(found.probabilities(signals), expected, atol=1e-9)


def test_an_index_that_is_larger_than_any_that_was_seen_counts_as_the_largest():
    rows = [
        circumstances_of(replace(drawn(1, 1), facts=IndexFacts(count)))["rows"]
        for count in (1, 12, 50, 4000, 100_000)
    ]
    assert rows == sorted(rows)
    assert (rows[0], rows[3]) == (rows[1], rows[4])
    assert rows[2] == pytest.approx(math.log(50))


def test_rows_with_the_same_answer_are_no_rivals():
    own = np.array([2.0, 1.0, 1.5])
    apart, together = (levels_of(own, np.array(answer)) for answer in ([0, 1, 2], [0, 0, 1]))
    np.testing.assert_allclose(apart, own)
    assert together[0] == pytest.approx(math.log(math.exp(2) + math.exp(1)))
    assert together[0] - together[1] == pytest.approx(1.0)
    alone = shares_of(apart, np.array([0, 1, 2]), 0.0)
    shared = shares_of(together, np.array([0, 0, 1]), 0.0)
    assert shared[0] > alone[0]
    assert alone[0] == pytest.approx(2 - math.log(math.exp(1) + math.exp(1.5) + 1))
    assert shares_of(np.array([900.0]), np.array([0]), 0.0).tolist() == [MOST_SHARE]


def test_what_all_rows_have_in_common_tells_none_apart(faq):
    steps = faq.steps("How do I reset my password?")
    steps.run()
    signals = steps.signals()
    vectors = np.concatenate([each.vectors.stored for each in faq.segments]).astype(np.float64)
    centre = vectors.mean(axis=0)
    assert signals.facts.centre == pytest.approx(centre, abs=2e-3)
    assert signals.facts.reliance == len(ROWS) / 12
    centre *= signals.facts.reliance
    query = steps.recalled.vector - centre
    rows = vectors[[place.row for place in steps.recalled.places]] - centre
    expected = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    assert signals.centred == pytest.approx(expected, abs=0.02)
    assert signals.query_mean == pytest.approx(float(centre @ steps.recalled.vector), abs=0.01)


def test_a_few_rows_tell_little_of_how_alike_they_are():
    alone = circumstances_of(replace(drawn(1, 1), query_mean=0.0, facts=IndexFacts(1)))
    few = circumstances_of(replace(drawn(1, 1), facts=IndexFacts(3, near=0.92)))
    many = circumstances_of(replace(drawn(1, 1), facts=IndexFacts(300, near=0.92)))
    assert alone["near"] == pytest.approx(USUAL["near"], abs=0.05)
    assert few["near"] == pytest.approx(0.62)
    assert many["near"] == 0.92


def test_an_index_with_a_sentence_encoder_has_the_learned_score(faq, encoder):
    assert faq.has_learned_score
    assert faq.manifest.settings.score == "learned"
    assert (faq.aim, faq.min_score) == ("precision=0.9", faq.least_score())
    again = Index.open(faq.path, threads=1)
    assert again.search("reset my password", min_score=0) == faq.search(
        "reset my password", min_score=0
    )


@pytest.mark.parametrize("stages", SUBSETS, ids=",".join)
def test_every_subset_gives_probabilities(faq, stages):
    found = faq.find("How do I reset my password?", stages=stages, min_score=0.0)
    scores = [hit["score"] for hit in found.hits]
    assert found.score == "a probability"
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 and math.isfinite(score) for score in scores)
    assert found.hits[0]["id"] == "1"
    assert 0 <= faq.least_score(stages) <= 1


@pytest.mark.parametrize("query", ["🦆", "a", "?", "密码", "w" * 3000, "the " * 2000])
def test_odd_queries_have_scores(faq, query):
    found = faq.find(query, min_score=0.0)
    assert all(0 <= hit["score"] <= 1 for hit in found.hits)


@pytest.mark.parametrize("rows", [ROWS[:1], [ROWS[0], {**ROWS[0], "id": "9"}]], ids=["one", "two"])
def test_one_row_and_one_row_twice(tmp_path, encoder, rows):
    made = IndexSettings(vectors=encoder)
    index = Index.build(rows, tmp_path / "i.sq", model="match-en", settings=made, threads=1)
    hits = index.search("How do I reset my password?", min_score=0.0)
    assert {hit["id"] for hit in hits} == {row["id"] for row in rows}
    assert len({hit["score"] for hit in hits}) == 1
    assert index.find("How do I reset my password?").others == [] or index.min_score > 0


def test_one_by_one_or_together_to_the_bit(faq):
    queries = [row["question"] for row in ROWS]
    together = faq.search_many(queries, min_score=0.0)
    assert [each.hits for each in together] == [faq.search(q, min_score=0.0) for q in queries]


def test_a_higher_aim_asks_for_more(faq):
    aims = [faq.least_score(aim=f"precision={each}") for each in (0.6, 0.8, 0.9, 0.95)]
    assert aims == sorted(aims)
    assert aims[0] < aims[-1]
    coverages = [faq.least_score(aim=f"coverage={each}") for each in (0.3, 0.6, 0.9)]
    assert coverages == sorted(coverages, reverse=True)
    query = "my password is gone"
    lenient = len(faq.search(query, aim="coverage=0.99"))
    assert lenient >= len(faq.search(query, aim="precision=0.99"))


def test_min_score_wins_over_the_aim(faq):
    assert faq.search("parcel", aim="precision=0.99", min_score=0.0)
    assert not faq.search("parcel", aim="coverage=0.99", min_score=1.0)
    faq.set_min_score(1.0)
    assert (faq.aim, faq.min_score) == (None, 1.0)
    faq.set_aim("coverage=0.5")
    assert (faq.aim, faq.manifest.settings.min_score) == ("coverage=0.5", None)
    assert Index.open(faq.path).min_score == faq.least_score(aim="coverage=0.5")


@pytest.mark.parametrize("aim", ["", "precision", "precision=1", "recall=0.9", "coverage=x", 0.9])
def test_what_is_no_aim_is_refused(faq, aim):
    with pytest.raises(ConfigError, match=r"aim is .*expected precision=P or coverage=C"):
        faq.search("a", aim=aim)
    with pytest.raises(ConfigError, match="expected precision=P or coverage=C"):
        IndexSettings(aim=aim)


def test_a_fused_index_takes_no_aim(index, rows, model, tmp_path):
    assert not index.has_learned_score
    assert index.aim is None
    for refused in (
        lambda: index.search("w1", aim="precision=0.9"),
        lambda: index.set_aim("precision=0.9"),
        lambda: Index.build(
            rows, tmp_path / "b.sq", model=model, settings=IndexSettings(aim="coverage=0.5")
        ),
    ):
        with pytest.raises(ConfigError, match="an aim needs the learned score"):
            refused()


def test_the_learned_score_is_refused_for_other_matchers(rows, model, tmp_path):
    with pytest.raises(ConfigError, match="the learned score is for match-en or match-zh"):
        Index.build(rows, tmp_path / "b.sq", model=model, settings=IndexSettings(score="learned"))


def test_an_index_of_format_1_answers_as_before(tmp_path, encoder):
    made = IndexSettings(vectors=encoder, score="fused")
    index = Index.build(ROWS, tmp_path / "old.sq", model="match-en", settings=made, threads=1)
    before = index.find("How do I reset my password?", min_score=0.0).hits
    path = index.path / "manifest.json"
    data = json.loads(path.read_text("utf-8"))
    data["format"] = 1
    del data["settings"]["score"], data["settings"]["aim"]
    path.write_text(json.dumps(data), "utf-8")
    old = Index.open(path.parent, threads=1)
    assert old.find("How do I reset my password?", min_score=0.0).hits == before
    assert (old.has_learned_score, old.aim) == (False, None)
    again = Index.rebuild(path.parent, vectors=encoder, threads=1)
    assert again.has_learned_score


def test_rebuilding_drops_a_threshold_of_the_former_score(tmp_path, encoder):
    made = IndexSettings(vectors=encoder, score="fused", min_score=0.4)
    index = Index.build(ROWS, tmp_path / "old.sq", model="match-en", settings=made, threads=1)
    again = Index.rebuild(index.path, threads=1)
    assert again.last_changes.dropped == {"min_score": 0.4}
    assert again.manifest.settings.min_score is None
    assert Index.rebuild(index.path, score="fused", threads=1).manifest.settings.score == "fused"


def test_facts_of_rows(faq):
    facts = measure_facts(faq.segments)
    vectors = np.concatenate([each.vectors.stored for each in faq.segments]).astype(np.float32)
    cosines = vectors @ vectors.T
    others = cosines[~np.eye(len(vectors), dtype=bool)].reshape(len(vectors), -1)
    assert facts.num_rows == len(ROWS)
    assert facts.near == pytest.approx(float(others.max(axis=1).mean()), abs=2e-3)
    assert facts.mean == pytest.approx(float(others.mean()), abs=1e-5)
    assert facts.spread == pytest.approx(float(others.std()), abs=1e-5)
    assert facts.same_answer == 0
    faq.add([{**ROWS[0], "id": "1a"}])
    assert measure_facts(faq.segments).same_answer > 0
    faq.delete(["1a"])
    faq.delete(["2", "3", "4"])
    assert measure_facts(faq.segments) == IndexFacts(1)


def test_a_score_survives_its_file(tmp_path):
    write_score(tmp_path / "again.json", shipped_score())
    assert (tmp_path / "again.json").read_bytes() == SCORE_FILE.read_bytes()
    data = json.loads(SCORE_FILE.read_text("utf-8"))
    data["columns"] = data["columns"][1:]
    (tmp_path / "other.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(ValueError, match="made for other features"):
        read_score(tmp_path / "other.json")


def test_equal_scores_are_ordered_by_cosine():
    signals = drawn(5, 6)
    assert best_rows([0.5] * 6, signals) == np.argsort(-signals.cosine).tolist()


def test_a_manifest_with_no_aim_in_its_aim_is_damaged(faq):
    path = faq.path / "manifest.json"
    data = json.loads(path.read_text("utf-8"))
    data["settings"]["aim"] = "recall=0.9"
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(InputError, match=r"is damaged \(aim is 'recall=0.9'"):
        Index.open(faq.path)


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory, encoder):
    """An index with more rows than the matcher compares."""
    rows = [
        {"id": str(number), "question": f"How do I {verb} my {thing}?", "answer": f"{verb} {thing}"}
        for number, (verb, thing) in enumerate(
            (verb, thing)
            for verb in ("reset", "change", "find", "cancel", "pay")
            for thing in ("password", "order", "parcel", "card", "address", "name")
        )
    ]
    made, place = IndexSettings(vectors=encoder), tmp_path_factory.mktemp("many") / "faq.sq"
    return Index.build(rows, place, model="match-en", settings=made, threads=1)


def test_the_first_cut_compares_the_rows_that_are_ahead(many_rows):
    search = many_rows.steps("how can I cancel an order", min_score=0.0)
    result = search.run()
    assert len(search.recalled.places) == 30
    assert len(search.compared) == 12
    signals = search.signals()
    assert np.isfinite(signals.matcher).all()
    expected = predicted_log_odds(signals.cosine, signals.words)
    is_compared = [place in search.compared for place in search.recalled.places]
    assert min(expected[is_compared]) >= max(expected[np.logical_not(is_compared)])
    assert result.hits[0]["question"] == "How do I cancel my order?"
    assert len(many_rows.steps("an order", top_k=20).run().hits) <= 20


def test_the_first_cut_is_the_same_in_steps(many_rows):
    for query in ("how can I cancel an order", "card", "pay pay pay", "nothing of that"):
        for options in ({}, {"top_k": 14}, {"candidates": 300}, {"explain": True, "min_score": 0}):
            expected = many_rows.find(query, **options)
            search = many_rows.steps(query, **options)
            for _ in search.recall():
                pass
            for step in [*search.comparisons()[::-1]]:
                step.run()
            for step in search.alignments():
                step.run()
            found = search.result()
            assert (found.hits, found.others) == (expected.hits, expected.others)


def test_without_all_stages_or_a_learned_score_every_row_is_compared(many_rows, encoder, tmp_path):
    search = many_rows.steps("an order", stages=["vectors", "rerank"])
    search.run()
    assert len(search.compared) == len(search.recalled.places) == 30
    fused = IndexSettings(vectors=encoder, score="fused")
    plain = Index.build(many_rows.rows(), tmp_path / "f.sq", model="match-en", settings=fused)
    search = plain.steps("an order")
    search.run()
    assert len(search.compared) == 30
