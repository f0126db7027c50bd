"""The score of search is judged by a score that has not seen the set."""

import json
from dataclasses import replace

import numpy as np
import pytest
from score_cases import Case, learned_case, pair_case
from score_faqs import Clusters, small_faq, topic_faq
from score_fits import Table, fit
from score_records import Record, read_records, record, write_records
from search_score import (
    SUBSETS,
    Answer,
    answers,
    auc,
    calibrate,
    calibrated,
    curve_of,
    first_cut,
    fit_all,
    fitted,
    judged,
    learned_by,
    make_table,
    of_kind,
    with_stages,
)

from softquery.search.aims import Aim
from softquery.search.query.first_cut import predicted_log_odds
from softquery.search.query.stages import STAGES, shown_stages
from softquery.search.score.index_facts import IndexFacts
from softquery.search.score.row_score import KINDS, phrased_share, read_score
from softquery.search.score.signals import Signals

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
                centred=cosine - 0.2,
                alike=np.zeros(6),
                query_length=int(draw.integers(5, 50)),
                query_mean=0.2,
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
    return folder, fit_all(toy_records(), folder)


def test_a_set_does_not_judge_itself(judgement, tmp_path):
    folder, _ = judgement
    spoilt = [
        replace(each, right=~each.right, is_answerable=True) if each.set == "tea" else each
        for each in toy_records()
    ]
    fit_all(spoilt, tmp_path)
    names = ("evidence", "none", "none_offset")
    for name, is_same in (("tea", True), ("books", False)):
        before, after = (
            read_score(place / f"{name}.json").by_stages[shown_stages(STAGES)]
            for place in (folder, tmp_path)
        )
        for kind in KINDS:
            weights = getattr(before, kind), getattr(after, kind)
            same = [getattr(weights[0], each) == getattr(weights[1], each) for each in names]
            assert all(same) if is_same else not any(same)


def test_it_learns_what_makes_a_row_right(judgement):
    folder, score = judgement
    found = judged(toy_records(), folder, STAGES)
    assert set(found) == {f"{name}: {case}" for name in SETS for case in ("many", "report")}
    assert min(each["auc"] for each in found.values()) > 0.85
    assert set(score.by_stages) == {shown_stages(stages) for stages in SUBSETS}
    curve = score.by_stages[shown_stages(STAGES)].curve
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


@pytest.mark.parametrize("same_answer", [0.0, 0.05, 0.9])
def test_fits_are_what_a_search_computes(same_answer):
    """Tables of many queries, and the score of one query, agree, in every kind of index."""
    records = [
        replace(
            each,
            signals=replace(
                each.signals, facts=replace(each.signals.facts, same_answer=number % 2 * 0.9)
            ),
        )
        for number, each in enumerate(toy_records(count=20))
    ]
    stages = ("words", "vectors")
    table, learned = make_table(records, stages), learned_by(records)
    assert (learned["phrased"].mean(), learned["single"].mean()) == (1, 0.5)
    fits, totals = {}, {}
    for kind in KINDS:
        part = of_kind(table, stages, kind)
        fits[kind] = fitted(part, records, learned[kind])
        totals[kind] = fits[kind].totals(part)
    score = calibrated(fits, stages, totals, table, records)
    lines = {
        kind: calibrate(
            answers(totals[kind][mine], table[mine], [records[n] for n in np.flatnonzero(mine)])
        )
        for kind, mine in learned.items()
    }
    own = [
        replace(
            each,
            signals=replace(
                each.signals, facts=replace(each.signals.facts, same_answer=same_answer)
            ),
        )
        for each in records
    ]
    table = make_table(own, stages)
    totals = {kind: fits[kind].totals(of_kind(table, stages, kind)) for kind in KINDS}
    share = phrased_share(same_answer)
    for place, each in enumerate(own):
        total = sum(
            part * (lines[kind][0] * totals[kind][place, :6] + lines[kind][1])
            for kind, part in (("phrased", share), ("single", 1 - share))
        )
        probabilities = score.probabilities(with_stages(each, stages).signals)
        np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-total)), atol=1e-6)


def test_what_each_kind_of_index_learns_from():
    first = toy_records()[0]
    phrased = replace(first.signals, facts=replace(first.signals.facts, same_answer=0.9))
    given = [
        replace(first, case="report", signals=phrased),
        replace(first, case="faq 30"),
        replace(first, case="close 30"),
        replace(first, case="pairs 60"),
        replace(first, case="pairs 4000"),
        replace(first, case="long"),
    ]
    learned = learned_by(given)
    assert learned["phrased"].tolist() == [True, True, False, True, False, True]
    assert learned["single"].tolist() == [False, True, True, True, True, False]


def test_the_first_cut_is_that_of_a_search():
    draw = np.random.default_rng(4)
    first = toy_records()[0].signals
    many = replace(
        first,
        **{name: draw.uniform(0, 1, 30) for name in ("cosine", "centred", "words")},
        matcher=draw.normal(0, 1, 30),
        answer=np.arange(30),
    )
    seen = first_cut(many)
    kept = np.argsort(-predicted_log_odds(many.cosine, many.words))[:12]
    np.testing.assert_array_equal(seen.matcher[kept], many.matcher[kept])
    assert (seen.matcher != many.matcher).sum() == 18
    assert first_cut(first) is first


def test_an_faq_has_one_row_for_every_answer():
    stored = [(f"text {label} {n}", f"intent {label}") for label in range(40) for n in range(8)]
    asked = [(f"query {label} {n}", f"intent {label}") for label in range(40) for n in range(3)]
    case = small_faq("en", "toy", "faq", stored, asked, ["of another set"], 12, 1)
    assert case.name == "faq 12"
    assert len(case.rows) == len({answer for _, answer in case.rows}) == 12
    known = {answer for _, answer in case.rows}
    assert {answer for _, answer in case.queries} == {*known, ""}
    gone = {text for text, answer in asked if answer not in known}
    assert {text for text, answer in case.queries if not answer} <= {*gone, "of another set"}
    several = small_faq("en", "toy", "faq+", stored, asked, [], 12, 1)
    assert (several.name, len(several.rows) > 12) == ("faq 12+", True)
    labels = small_faq("en", "toy", "label", stored, asked, [], 12, 1)
    assert all(text == answer for text, answer in labels.rows)


def test_an_faq_of_topics_is_asked_near_things_in_vain():
    pairs = [(f"how cook dish{n} rice", f"way to cook dish{n} rice", True) for n in range(30)]
    pairs += [(f"where buy thing{n} {n}", f"which shop has thing{n}", True) for n in range(400)]
    pairs += [("is rice good", f"way to cook dish{n} rice", False) for n in range(30)]
    clusters = Clusters(pairs)
    assert len(clusters.texts) == 430
    case = topic_faq("en", "toy", clusters, 10, 1)
    assert len(case.rows) == len({answer for _, answer in case.rows})
    stored = {text for text, _ in case.rows}
    assert not stored & {text for text, _ in case.queries}
    assert {answer for _, answer in case.queries} == {*(answer for _, answer in case.rows), ""}


def test_evidence_and_trust_are_found():
    draw = np.random.default_rng(2)
    evidence = draw.normal(size=(800, 5, 2))
    none = draw.uniform(size=800) < 0.2
    chance = np.exp(3 * evidence[..., 0])
    first = [int(draw.choice(5, p=row / row.sum())) for row in chance]
    right = (np.arange(5) == np.array(first)[:, None]) & ~none[:, None]
    circumstances = np.stack([none + 0.3 * draw.normal(size=800), np.ones(800)], axis=1)
    table = Table(
        evidence, circumstances, np.tile(np.arange(5), (800, 1)), right, right.any(axis=1)
    )
    found = fit(table, np.ones(800), np.ones(800))
    assert 1.8 < found.evidence[0] < 3.2  # a penalty draws it to 0
    assert abs(found.evidence[1]) < 0.3
    assert found.none[0] > 1
    assert found.trust[1] > 0
    totals = found.totals(table)
    assert auc(totals.max(axis=1), right[np.arange(800), totals.argmax(axis=1)]) > 0.8


def test_calibration_finds_the_share_that_is_right():
    draw = np.random.default_rng(3)
    total = draw.normal(0, 2, 4000)
    right = draw.uniform(size=4000) < 1 / (1 + np.exp(-(0.5 * total - 1)))
    found = [
        Answer("toy", "many", float(t), bool(r), True) for t, r in zip(total, right, strict=True)
    ]
    slope, offset = calibrate(found)
    assert slope == pytest.approx(0.5, abs=0.08)
    assert offset == pytest.approx(-1, abs=0.12)
    curve = curve_of([replace(each, total=slope * each.total + offset) for each in found])
    met = curve.scores.index(curve.threshold(Aim("precision", 0.7)))
    assert 0.7 <= curve.precision[met] < 0.75
    assert json.dumps(curve.precision)
    assert list(curve.coverage) == sorted(curve.coverage, reverse=True)
