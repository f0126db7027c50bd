"""The report on an index: what it says, and that whatever users type only ever becomes text."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings, report_index
from softquery.search.report.collect import MOST_ALIGNMENTS, MOST_MISTAKES, collect, wilson
from softquery.search.report.curves import calibration, coverage_curve, histogram
from softquery.search.report.gaps import find_clusters
from softquery.search.report.page import text

HOSTILE = "<script>alert(1)</script> \x00\x1b[31m\u202e</title> & \"'$maps {x} 怎么退款"


class Reader(HTMLParser):
    """Which elements and attributes a page has, and that all of them are closed in order."""

    EMPTY = frozenset(("meta", "rect", "line", "circle", "polyline", "path"))

    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.open = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += attrs


def read(page):
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    assert not {"script", "link", "img", "iframe", "object"} & reader.names
    loaded = {"src", "href", "xlink:href", "style", "onload", "onclick"}
    assert not loaded & {name for name, _ in reader.attributes}
    return reader


def labelled(rows, *more):
    return [{"query": row["question"], "doc": row["id"]} for row in rows] + list(more)


@pytest.fixture
def strict(rows, model, tmp_path):
    settings = IndexSettings(min_score=0.6, encodings="int8")
    return Index.build(rows, tmp_path / "strict.sq", model=model, settings=settings, threads=1)


def test_what_a_report_says(index, rows, tmp_path):
    outside = [{"query": f"zebra {n}", "doc": ""} for n in range(2)]
    report = report_index(index, labelled(rows, *outside))
    data = json.loads(json.dumps(report.to_dict()))
    assert (data["n"], data["rows"], data["labelled"]) == (14, 12, True)
    assert data["headline"]["first_right"]["n"] == 12
    assert data["headline"]["unanswerable_answered"]["n"] == 2
    low, high = data["headline"]["first_right"]["interval"]
    assert low <= data["headline"]["first_right"]["value"] <= high
    assert data["today"]["threshold"] == 0
    assert data["today"]["coverage"] == 1
    assert data["curve"][-1]["coverage"] == 1
    assert sum(map(sum, data["histogram"]["counts"].values())) == 14
    assert sum(each["n"] for each in data["calibration"]["groups"]) == 14
    assert {each["slice"] for each in data["slices"]["kind"]} == {"even", "odd", "(empty)"}
    assert sum(each["n"] for each in data["slices"]["length"]) == 14
    assert data["num_mistakes"] == len(data["mistakes"])
    place = report.write_html(tmp_path / "report.html")
    page = place.read_text("utf-8")
    read(page)
    assert "default-src 'none'" in page
    assert "http" not in re.sub(r"http-equiv", "", page)
    assert "How well does" in page


def test_mistakes_say_what_was_shown_and_what_was_right(index, rows):
    swapped = [
        {"query": row["question"], "doc": other["id"]}
        for row, other in zip(rows, rows[1:] + rows[:1], strict=True)
    ]
    report = report_index(index, swapped)
    first = report.data["mistakes"][0]
    assert first["shown"]["score"] >= report.data["mistakes"][-1]["shown"]["score"]
    (right,) = first["right"]
    assert right["rank"] is None or right["rank"] > 1
    assert right["id"] != first["shown"]["id"]
    assert set(report.alignments) <= set(range(len(report.data["mistakes"])))
    assert report.alignments[0].second == first["shown"]["question"]


def test_a_log_has_gaps_and_no_figures_of_quality(strict):
    log = [{"query": each} for each in ("w1 zebra", "zebra w1", "w2 quagga", "quagga w2", "w7")]
    report = report_index(strict, log)
    assert not report.data["labelled"]
    assert set(report.data["headline"]) == {"answered"}
    assert not {"curve", "mistakes", "calibration", "mrr"} & set(report.data)
    gaps = report.data["gaps"]
    assert gaps["queries"] == round(5 * (1 - report.data["answers"]["answered"]))
    for each in gaps["clusters"]:
        assert each["size"] >= len(each["examples"]) >= 2
    read(report.to_html())


def test_hostile_text_is_only_text(model, tmp_path):
    stored = HOSTILE.replace("\x00", "")  # which no row may hold
    rows = [
        {"id": stored, "question": f"{stored} w1", "answer": stored, stored: "<b>"},
        {"id": "2", "question": "w2 w3", "answer": "", stored: "</td>"},
    ]
    settings = IndexSettings(min_score=0.0)
    place = tmp_path / "<b>.sq"
    index = Index.build(rows, place, model=model, settings=settings, threads=1)
    asked = [
        {"query": f"{HOSTILE} {n}", "doc": "2" if n else "", "<i>": f"<u>{n}"} for n in range(3)
    ]
    page = report_index(index, asked, slices=["<i>"]).to_html()
    read(page)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "怎么退款" in page
    assert not re.search("[\x00-\x08\x0b-\x1f]", page)
    log = report_index(index, [{"query": HOSTILE}, {"query": HOSTILE * 90}]).to_html()
    read(log)
    assert "<script>" not in log


@given(st.text())
def test_any_text_is_escaped(value):
    assert not set("<>\"'\x00\x1b") & set(text(value))


def test_ten_thousand_queries_stay_a_small_page(index, rows):
    from softquery.search.index_evaluation import LabelledQuery, SearchDetails, SearchEvaluation

    draw = np.random.default_rng(1)
    count, ids = 10_000, [row["id"] for row in rows]
    scores = draw.uniform(size=count).round(3).tolist()
    ranked = [[ids[place], ids[0]] for place in draw.integers(1, len(ids), count)]
    queries = [
        LabelledQuery(f"query {n} " + "word " * 40, {ids[n % 12]: 1.0} if n % 3 else {})
        for n in range(count)
    ]
    vectors = draw.normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    evaluation = SearchEvaluation(
        queries,
        index.stages,
        {"words": ranked, "rerank": ranked},
        scores,
        {"total": [0.001] * count},
        50,
        0.5,
        SearchDetails(True, [[score, 0.1] for score in scores], list(vectors)),
    )
    report = collect(index, evaluation)
    assert len(report.data["mistakes"]) == MOST_MISTAKES < report.data["num_mistakes"]
    assert len(report.alignments) <= MOST_ALIGNMENTS
    assert report.data["gaps"]["looked_at"] < count
    page = report.to_html()
    assert f"{MOST_MISTAKES} of {report.data['num_mistakes']:,}" in page
    assert len(page.encode()) < 1_000_000


def test_refusals(index, rows, tmp_path):
    with pytest.raises(ConfigError, match=r"no column 'colour' to slice by; found: length, lang"):
        report_index(index, labelled(rows), slices=["colour"])
    with pytest.raises(InputError, match="row 2: has no query"):
        report_index(index, [{"query": "w1"}, {"query": " "}])
    report = report_index(index, labelled(rows[:2]))
    with pytest.raises(InputError, match=r"ends in \.html"):
        report.write_html(tmp_path / "report.pdf")
    with pytest.raises(InputError, match="no such folder"):
        report.write_html(tmp_path / "none" / "report.html")


def test_one_query_and_one_without_a_hit(index):
    read(report_index(index, [{"query": "w1", "doc": "r1"}]).to_html())
    read(report_index(index, [{"query": "zebra"}], stages=["words"]).to_html())
    read(report_index(index, [{"query": "zebra", "doc": ""}], stages=["words"]).to_html())


def test_scores_that_are_no_probabilities_are_not_called_true(index, rows):
    found = report_index(index, labelled(rows), stages=["words"]).data
    assert found["score"] == "BM25"
    assert "calibration" not in found


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_curves_count_what_they_say(cells):
    scores = np.array([each[0] for each in cells])
    answerable = np.array([each[1] for each in cells])
    right = np.array([each[2] for each in cells]) & answerable
    for point in coverage_curve(scores, right, answerable):
        given_ = scores >= point["threshold"]
        assert point["precision"] == right[given_].mean()
        if answerable.any():
            assert point["coverage"] == given_[answerable].mean()
        if (~answerable).any():
            assert point["unanswerable_answered"] == given_[~answerable].mean()
    assert sum(each["n"] for each in calibration(scores, right)["groups"]) == len(cells)
    counts = histogram(scores, {"right": right, "wrong": ~right})["counts"]
    assert sum(map(sum, counts.values())) == len(cells)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_of_near_queries_and_share_none(seed):
    draw = np.random.default_rng(seed)
    centres = np.eye(4, 16)
    vectors = centres[draw.integers(0, 4, 900)] + draw.normal(0, 0.02, (900, 16))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    found = find_clusters(vectors, 0.8)
    assert len(found) == 4
    members = [each for cluster in found for each in cluster.members]
    assert sorted(members) == list(range(900))
    for cluster in found:
        assert (vectors[cluster.members] @ vectors[cluster.members[0]]).min() >= 0.8
    assert find_clusters(np.eye(5, dtype=np.float32), 0.5) == []


@given(st.integers(0, 50), st.integers(1, 50))
def test_intervals_hold_the_share(count, total):
    count = min(count, total)
    low, high = wilson(count, total)
    assert 0 <= low <= count / total <= high <= 1
    assert high - low > 0
