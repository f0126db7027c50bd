"""Whatever is done to an index, it holds what a dictionary would, and finds it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softquery import Index
from softquery.errors import ConfigError, InputError, MissingExtra
from softquery.search import IndexSettings, Repeat
from softquery.search.changes import merging

KEYS = st.sampled_from([f"k{number}" for number in range(8)])
ROW = st.tuples(KEYS, st.integers(0, 30), st.sampled_from(["x", "y", None]))
STEP = st.one_of(
    st.tuples(st.just("add"), st.lists(ROW, min_size=1, max_size=4, unique_by=lambda row: row[0])),
    st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("reopen"), st.none()),
    st.tuples(st.just("compact"), st.none()),
)
SETTINGS = IndexSettings(min_score=0.0)


def as_row(key, number, kind):
    row = {"id": key, "question": f"w{number} w{number + 1}", "answer": f"a{number}"}
    return row if kind is None else {**row, "kind": kind}


def contents(index):
    return {row["id"]: row for row in index.rows()}


@settings(max_examples=15, deadline=None)
@given(steps=st.lists(STEP, max_size=8))
def test_equals_a_dictionary(steps, model, tmp_path_factory):
    place = tmp_path_factory.mktemp("property") / "faq.sq"
    first = as_row("k0", 0, None)
    index = Index.build([first], place, model=model, settings=SETTINGS, threads=1)
    expected = {"k0": first}
    for step, argument in steps:
        if step == "add":
            rows = [as_row(*row) for row in argument]
            same = sum(expected.get(row["id"]) == row for row in rows)
            known = sum(row["id"] in expected for row in rows)
            changes = index.add(rows)
            expected |= {row["id"]: row for row in rows}
            assert (changes.unchanged, changes.updated) == (same, known - same)
            assert changes.added == len(rows) - known
        elif step == "delete" and set(argument) <= set(expected):
            assert index.delete(argument).deleted == len(argument)
            expected = {key: row for key, row in expected.items() if key not in argument}
        elif step == "delete":
            with pytest.raises(InputError, match="no row has the id or the question"):
                index.delete(argument)
        elif step == "reopen":
            index = Index.open(place, threads=1)
        else:
            index.compact()
            assert len(index.manifest.segments) == (1 if expected else 0)
        assert contents(index) == expected
        assert len(index) == len(expected)
    again = Index.open(place, threads=1)
    assert contents(again) == expected
    for row in expected.values():
        found = {hit["id"]: hit for hit in again.search(row["question"], top_k=20)}
        score = found[row["id"]].pop("score")
        assert 0 <= score <= 1
        assert found[row["id"]] == {**row, "answer": row["answer"]}
        assert set(found) <= set(expected)


def test_hits_are_the_rows_with_scores(index, rows):
    hits = index.search(rows[3]["question"], top_k=4)
    assert len(hits) == 4
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    by_id = {row["id"]: row for row in rows}
    for hit in hits:
        score = hit.pop("score")
        assert hit == by_id[hit["id"]]
        assert isinstance(score, float)
        json.dumps(hit)


PRECISIONS = pytest.mark.parametrize(
    ("encodings", "error"), [("none", 1e-6), ("float16", 1e-3), ("int8", 0.01)]
)


@PRECISIONS
def test_scores_are_those_of_the_matcher(encodings, error, rows, model, tmp_path):
    check_scores(rows, model, tmp_path, encodings, error)


@PRECISIONS
@pytest.mark.parametrize("projection_size", [5, 10])  # of which the widths make quarters, or not
def test_a_thin_composition_is_stored_as_well(encodings, error, projection_size, rows, tmp_path):
    from small_bundles import exported, make_bundle

    sizes = {"projection_size": projection_size, "composer": "convolution", "composer_size": 9}
    plain = make_bundle(tmp_path / "plain", size=8, outputs=2, **sizes)
    model = exported(plain, tmp_path / "model").bundle
    index = check_scores(rows, model, tmp_path, encodings, 2 * error)
    assert index.matcher.encodings(["w1 w2"])[0].shape == (2, 2 * 8 + 2 * projection_size)


def check_scores(rows, model, folder, encodings, error):
    settings = IndexSettings(encodings=encodings, recall_weight=0.0, min_score=0.0)
    index = Index.build(rows, folder / "faq.sq", model=model, settings=settings)
    query = "w3 w41 w82"
    questions = [row["question"] for row in rows]
    wanted = {each["text"]: each["score"] for each in index.matcher.rank(query, questions)}
    hits = index.search(query, top_k=12)
    assert len(hits) >= 3
    for hit in hits:
        assert hit["score"] == pytest.approx(wanted[hit["question"]], abs=error)
    return index


def test_what_recall_put_last_scores_less_than_the_matcher_says(index, rows):
    query = "w3 w41 w82"
    questions = [row["question"] for row in rows]
    alone = {each["text"]: each["score"] for each in index.matcher.rank(query, questions)}
    for hit in index.search(query, top_k=12):
        assert hit["score"] <= alone[hit["question"]] + 0.01


def test_no_good_answer(index):
    found = index.find("w1 w2", min_score=1.0)
    assert found.hits == []
    assert len(found.others) == 5
    assert set(found.seconds) == {"read", "vectors", "words", "rerank", "total"}
    assert index.search("w1 w2", min_score=1.0) == []


def test_unknown_words_only(index):
    assert index.find("zebra").hits == []


def test_filters(index):
    query = "w0 w1 w2 w3"
    assert {hit["kind"] for hit in index.search(query, top_k=12)} == {"even", "odd"}
    assert {hit["kind"] for hit in index.search(query, where={"kind": "odd"})} == {"odd"}
    both = index.search(query, top_k=12, where={"kind": ["odd", "even"], "id": ["r1", "r2"]})
    assert {hit["id"] for hit in both} == {"r1", "r2"}
    assert index.search(query, where={"kind": "neither"}) == []
    with pytest.raises(InputError, match=r"no column 'colour'.*id, question, answer, kind"):
        index.search(query, where={"colour": "red"})


def test_half_a_character_is_found_nowhere_and_names_no_column(index, model, tmp_path):
    half = chr(0xD800)
    assert index.search(f"w1 {half}", where={"id": half}) == []
    assert index.search(f"w1 {half}") is not None
    with pytest.raises(InputError, match=r"row 1: the column name 'k.ud800' holds half"):
        Index.build([{"question": "w1", f"k{half}": "x"}], tmp_path / "x.sq", model=model)


def test_alignment_on_request(index):
    (hit,) = index.search("w1 w41", top_k=1, explain=True)
    assert hit["alignment"]["first_tokens"] == ["w1", "w41"]
    assert hit["alignment"]["second"] == hit["question"]
    assert hit["alignment"]["score"] == pytest.approx(hit["score"], abs=0.05)  # int3 is narrow


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"candidates": 0}, "candidates must be from 1"),
        ({"min_score": 1.5}, "min_score must be from 0 to 1"),
    ],
)
def test_bad_options(index, options, said):
    with pytest.raises(ConfigError, match=said):
        index.search("w1", **options)
    with pytest.raises(ConfigError, match="query is empty"):
        index.search("  ")


def test_rows_without_ids_are_known_by_their_questions(model, tmp_path):
    rows = [{"question": "w1 w2"}, {"question": "w3"}, {"question": "W1  w2", "answer": "new"}]
    index = Index.build(rows, tmp_path / "faq.sq", model=model, settings=SETTINGS)
    assert index.last_changes.repeats == [Repeat(3, 1, "W1  w2")]
    assert [row["question"] for row in index.rows()] == ["W1  w2", "w3"]
    changes = index.add([{"question": "w3", "answer": "now"}, {"question": "w4"}])
    assert (changes.added, changes.updated) == (1, 1)
    assert index.delete(["w4"]).deleted == 1
    assert sorted(row.get("answer", "") for row in index.rows()) == ["new", "now"]


def test_many_small_changes_are_merged(index, rows):
    for number in range(18):
        index.add([{"id": "x", "question": f"w{number}", "answer": str(number)}])
    assert len(index.manifest.segments) <= merging.MOST_SEGMENTS
    assert contents(index) == {row["id"]: row for row in rows} | {
        "x": {"id": "x", "question": "w17", "answer": "17"}
    }
    folders = {path.name for path in (index.path / "segments").iterdir()}
    assert folders == {entry.name for entry in index.manifest.segments}


def test_a_merge_leaves_answers_as_they_were(index, rows):
    index.add([{**rows[5], "answer": "changed"}, {"id": "new", "question": "w5 w45"}])
    index.delete(["r6"])
    before = index.search("w5 w45 w6", top_k=12)
    index.compact()
    after = index.search("w5 w45 w6", top_k=12)
    assert [hit["id"] for hit in before] == [hit["id"] for hit in after]
    assert [hit["score"] for hit in before] == [hit["score"] for hit in after]


def test_siamese_model(rows, siamese, tmp_path):
    index = Index.build(rows, tmp_path / "faq.sq", model=siamese, settings=SETTINGS)
    assert index.manifest.vector_source == "encoding"
    again = Index.open(index.path)
    (hit,) = again.search(rows[2]["question"], where={"id": "r2"})
    assert hit["id"] == "r2"


@pytest.mark.parametrize("vectors", ["words", "states", "siamese", "elmo-en"])
def test_sources_of_vectors(vectors, rows, model, siamese, tmp_path):
    source = str(siamese) if vectors == "siamese" else vectors
    place = tmp_path / "faq.sq"
    made = IndexSettings(vectors=source, min_score=0.0)
    Index.build(rows, place, model=model, settings=made)
    index = Index.open(place)
    vector = index.models.vector(rows[4]["question"])
    found, cosines = index.segments[0].vectors.nearest(
        vector, 1, index.segments[0].live, num_rows=len(index)
    )
    assert index.segments[0].ids[found[0]] == "r4"
    assert cosines[0] == pytest.approx(1, abs=2e-3)


def test_words_of_further_columns(rows, model, tmp_path):
    settings = IndexSettings(word_columns=("question", "answer"), min_score=0.0)
    index = Index.build(rows, tmp_path / "faq.sq", model=model, settings=settings)
    assert {hit["id"] for hit in index.search("answer", top_k=12)} == {row["id"] for row in rows}
    with pytest.raises(InputError, match="no column 'body' to look words up in"):
        Index.build(
            rows, tmp_path / "b.sq", model=model, settings=IndexSettings(word_columns=("body",))
        )


def test_duplicates(rows, model, tmp_path):
    index = Index.build(
        [*rows, {"id": "twin", "question": "W3  w43 w83"}], tmp_path / "faq.sq", model=model
    )
    found = index.duplicates(min_score=0.0)
    assert (found[0].first, found[0].second, found[0].is_exact) == ("r3", "twin", True)
    assert all(not each.is_exact and 0 <= each.score <= 1 for each in found[1:])
    assert len({frozenset((each.first, each.second)) for each in found}) == len(found)


def test_a_file_and_other_names(model, tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text('title,body,tag\n"w1, w2",first,a\nw3,second,b\n', encoding="utf-8")
    names = {"question": "title", "answer": "body"}
    index = Index.build(path, tmp_path / "faq.sq", model=model, columns=names)
    assert [row["tag"] for row in index.rows()] == ["a", "b"]
    assert [row["question"] for row in index.rows()] == ["w1, w2", "w3"]


@pytest.mark.parametrize("missing", ["usearch", "bm25s"])
def test_the_extra_is_named_where_it_is_missing(missing, rows, index, model, tmp_path, monkeypatch):
    from softquery.search.changes import index_checks as module

    monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else True)
    with pytest.raises(MissingExtra, match=r'pip install "softquery\[search\]"'):
        Index.build(rows, tmp_path / "other.sq", model=model)
    with pytest.raises(MissingExtra, match="an index of questions needs"):
        Index.open(index.path)
    assert not (tmp_path / "other.sq").exists()


def test_min_score_can_be_set(index):
    index.set_min_score(1.0)
    assert index.search("w1 w41") == []
    assert Index.open(index.path).min_score == 1.0
    index.set_min_score(None)
    assert Index.open(index.path).min_score == 0.5
    with pytest.raises(ConfigError, match="min_score must be from 0 to 1"):
        index.set_min_score(2.0)


def test_a_matcher_that_reads_both_at_once_reads_pairs(tmp_path):
    pytest.importorskip("torch")
    from bert_head_cases import CASES

    folder = tmp_path / "bert"
    next(case for case in CASES if case.kind == "matcher").write(folder)
    index = Index.build([{"question": "a b"}], tmp_path / "faq.sq", model=folder, threads=1)
    assert index.find("a b", stages=["rerank"], min_score=0.0).hits
    assert index.manifest.settings.encodings == "none"
