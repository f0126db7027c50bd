"""Tuning an index: what it learns from labels and clicks, what it stores, and how to go back."""

import json
import re
import shutil

import pytest

from index_forging import change_json
from small_tuning import ROWS, labelled_queries
from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings, TuneReport
from softquery.search.aims import Aim
from softquery.search.storage.tuning_files import TUNING
from softquery.search.tuning.tune_report import TunedFigure, is_surely_better
from softquery.search.tuning.tuning_gain import FIGURES

NEW = "w83 w93 w73 w30"
"""Asked as queries for r3 are asked, and not among the labelled ones."""


@pytest.fixture(scope="module")
def built(model, tmp_path_factory):
    """An index, untuned and tuned, and what tuning reported."""
    folder = tmp_path_factory.mktemp("tuning")
    settings = IndexSettings(vectors="words")
    Index.build(ROWS, folder / "plain.sq", model=model, settings=settings, threads=1)
    shutil.copytree(folder / "plain.sq", folder / "tuned.sq")
    report = Index.open(folder / "tuned.sq", threads=1).tune(labelled_queries())
    return folder, report


@pytest.fixture
def plain(built, tmp_path):
    shutil.copytree(built[0] / "plain.sq", tmp_path / "faq.sq")
    return Index.open(tmp_path / "faq.sq", threads=1)


@pytest.fixture
def tuned(built, tmp_path):
    shutil.copytree(built[0] / "tuned.sq", tmp_path / "tuned.sq")
    return Index.open(tmp_path / "tuned.sq", threads=1)


def test_what_is_learned_is_kept(built, tuned):
    report = built[1]
    assert isinstance(report, TuneReport)
    assert (report.is_sure, report.is_changed, report.kind) == (True, True, "labels")
    assert (report.num_queries, report.num_answerable) == (44, 32)
    assert tuple(report.figures) == FIGURES
    first = report.figures["first_answer"]
    assert first.after > first.before + 0.3
    assert first.low > 0
    assert tuned.tuning == report
    assert "tuned on 44 queries" in repr(tuned)
    assert json.loads(json.dumps(report.to_dict()))["aim"] == "precision=0.9"


def test_a_query_like_those_before_finds_their_row(plain, tuned):
    assert plain.tuning is None
    assert plain.find(NEW, min_score=0.0).hits[0]["id"] != "r3"
    found = tuned.find(NEW, min_score=0.0)
    assert found.hits[0]["id"] == "r3"
    assert found.score == "a probability"
    assert found.hits[0]["score"] == max(hit["score"] for hit in found.hits)


def test_other_stages_keep_their_scores(plain, tuned):
    for stages in (["words"], ["vectors", "rerank"]):
        assert plain.search(NEW, stages=stages) == tuned.search(NEW, stages=stages)
        assert plain.least_score(stages) == tuned.least_score(stages)


def test_the_threshold_follows_the_aim(tuned):
    assert tuned.aim == "precision=0.9"
    assert tuned.min_score == tuned.tuning.min_score
    low, high = (tuned.least_score(aim=f"precision={value}") for value in (0.5, 0.99))
    assert low <= tuned.min_score <= high
    tuned.set_aim("coverage=0.5")
    assert Index.open(tuned.path).min_score == tuned.least_score(aim="coverage=0.5")


def test_changes_keep_the_tuning(tuned):
    before = tuned.tuning
    tuned.add([{"id": "r90", "question": "w7 w8"}])
    tuned.delete(["r0"])
    tuned.compact()
    assert Index.open(tuned.path, threads=1).tuning == before
    assert tuned.find(NEW, min_score=0.0).hits[0]["id"] == "r3"


def test_undo_restores_what_was_before(plain):
    plain.set_min_score(0.25)
    as_it_was = plain.find(NEW)
    report = plain.tune(labelled_queries())
    assert any("min_score 0.25" in line for line in report.notes)
    plain.tune(labelled_queries(each=3))  # begins again from the score without tuning
    assert plain.tuning.figures["mrr"].before == pytest.approx(
        report.figures["mrr"].before, abs=0.1
    )
    plain.untune()
    assert plain.min_score == 0.25
    assert plain.tuning is None
    assert (plain.find(NEW).hits, plain.find(NEW).others) == (as_it_was.hits, as_it_was.others)
    assert list((plain.path / "tunings").iterdir()) == []
    with pytest.raises(ConfigError, match="was not tuned, so that there is nothing to undo"):
        plain.untune()


def test_a_dry_run_changes_nothing_and_takes_no_lock(plain):
    before = (plain.path / "manifest.json").read_bytes()
    with plain._store.writing():
        report = Index.open(plain.path, threads=1).tune(labelled_queries(), dry_run=True)
        with pytest.raises(InputError, match="is being written by another process"):
            Index.open(plain.path, threads=1).tune(labelled_queries())
    assert (report.is_sure, report.is_changed) == (True, False)
    assert (plain.path / "manifest.json").read_bytes() == before


def test_without_a_sure_gain_only_force_changes_the_index(plain):
    """Of queries that have nothing in common, every second one is answered by what is first."""
    queries = [f"w{number} w{2 * number} w{3 * number}" for number in range(1, 33)]
    first = [plain.find(query, min_score=0.0).hits[0]["id"] for query in queries]
    drawn = [
        {"query": query, "doc": key if place % 2 else "r0" if key != "r0" else "r1"}
        for place, (query, key) in enumerate(zip(queries, first, strict=True))
    ]
    seen = []

    def watch(report):
        assert Index.open(plain.path).tuning is None  # the gain is told before anything changes
        seen.append(report)

    report = plain.tune(drawn, announce=watch)
    assert (report.is_sure, report.is_changed) == (False, False)
    assert seen == [report]
    assert plain.tuning is None
    assert "not surely better" in repr(report)
    assert any("too few queries are without an answer" in line for line in report.notes)
    assert not any("surely fewer queries" in line for line in report.notes)
    plain.set_min_score(0.0)
    forced = plain.tune(drawn, force=True, announce=watch)
    assert forced.is_changed
    assert plain.tuning is not None
    (said,) = [line for line in forced.notes if line.startswith("surely fewer queries")]
    assert "because fewer answers reach precision=0.9" in said


@pytest.mark.parametrize(
    ("net", "rightly", "is_sure"),
    [
        ((0.01, 0.1), (-0.1, 0.1), True),
        ((-0.1, 0.1), (-0.1, 0.1), True),  # the loss is better, and nothing else is worse
        ((-0.1, 0.1), (-0.2, -0.1), False),
        ((0.01, 0.1), (-0.2, -0.1), True),
        ((-0.2, -0.1), (0.1, 0.2), False),
    ],
)
def test_a_truer_score_that_answers_less_is_no_sure_gain(net, rightly, is_sure):
    bounds = {"net": net, "answered_rightly": rightly, "loss": (-0.2, -0.1), "mrr": (0.0, 0.0)}
    figures = {
        name: TunedFigure(before=0.5, after=0.5, gain=0.0, low=low, high=high)
        for name, (low, high) in bounds.items()
    }
    assert is_surely_better(figures) is is_sure


def test_clicks_teach_too(plain):
    others = [f"r{number}" for number in range(8)]
    log = []
    for row in labelled_queries():
        shown = [key for key in others if key != row["doc"]][:3]
        chosen = {"chosen": row["doc"]} if row["doc"] else {"chosen": ""}
        shown += [row["doc"]] if row["doc"] else []
        log += [{"query": row["query"], "shown": json.dumps(shown), **chosen}] * 2
    report = plain.tune(log)
    assert (report.kind, report.num_queries, report.num_answerable) == ("clicks", 44, 32)
    assert report.is_changed
    assert plain.find(NEW, min_score=0.0).hits[0]["id"] == "r3"


def test_a_rebuild_with_other_vectors_drops_it(tuned):
    same = Index.rebuild(tuned.path, threads=1)
    assert (same.last_changes.untuned, same.tuning) == (False, tuned.tuning)
    other = Index.rebuild(tuned.path, vectors="states", threads=1)
    assert (other.last_changes.untuned, other.tuning) == (True, None)
    assert list((tuned.path / "tunings").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data["score"]["weights"].pop(), "weights of the score is .*, expected 6"),
        (lambda data: data["score"].update(slope="1"), "slope of the score is '1', expected a num"),
        (lambda data: data["score"].update(features=["x"]), "features of the score is"),
        (lambda data: data["curve"]["scores"].pop(), "its curve is not as long everywhere"),
        (lambda data: data["relevant"].pop(), "does not hold 43 vectors|are not as wide"),
        (lambda data: data["report"].pop("figures"), "its report is none"),
        (lambda data: data.update(more=1), "the tuning has an unknown key 'more'"),
    ],
)
def test_a_forged_tuning_is_refused(tuned, change, said):
    from zlib import crc32

    (folder,) = (tuned.path / "tunings").iterdir()
    change_json(folder / TUNING, lambda data: (change(data), data)[1])
    entry = {"crc": crc32((folder / TUNING).read_bytes())}
    change_json(tuned.path / "manifest.json", lambda data: data["tuning"].update(entry))

    def used():
        return Index.open(tuned.path, threads=1).tuning and Index.open(tuned.path).search(NEW)

    with pytest.raises(InputError, match=said) as caught:
        used()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(folder))


def test_a_damaged_tuning_is_refused(tuned):
    (folder,) = (tuned.path / "tunings").iterdir()
    content = (folder / TUNING).read_bytes()
    (folder / TUNING).write_bytes(content[:-2] + b" }")
    with pytest.raises(InputError, match="tuning.json: is damaged \\(its checksum differs\\)"):
        Index.open(tuned.path)
    (folder / TUNING).unlink()
    with pytest.raises(InputError, match="is missing; restore the index, or build it again"):
        Index.open(tuned.path)


def test_leftovers_are_swept_and_the_rest_stays(tuned):
    place = tuned.path / "tunings"
    (place / "000099-0a1b2c3d" / "matcher").mkdir(parents=True)
    (place / "000099-0a1b2c3d" / "matcher" / "config.json").write_text("{}")
    (place / "mine").mkdir()
    tuned.set_aim("precision=0.8")
    (kept,) = {each.name for each in place.iterdir()} - {"mine"}
    assert kept == tuned.manifest.tuning.name


def test_a_threshold_for_an_aim_it_was_tuned_to(plain):
    report = plain.tune(labelled_queries(), aim="coverage=0.6", force=True)
    assert report.aim == plain.aim == Aim("coverage", 0.6).spelt
    with pytest.raises(ConfigError, match="aim is 'much'"):
        plain.tune(labelled_queries(), aim="much")


def refused(index, rows):
    with pytest.raises(InputError) as caught:
        index.tune(rows)
    return re.sub(r"^the data(, row \d+)?: ", "", str(caught.value))


def test_what_cannot_be_learned_from(plain):
    good = labelled_queries()
    few = "tuning needs at least 20 queries, 10 of them with an answer; found "
    assert refused(plain, []) == "holds no rows"
    assert refused(plain, good[:1]) == f"{few}1 query, 1 with an answer"
    assert refused(plain, [good[0]] * 30) == f"{few}1 query, 1 with an answer"
    assert refused(plain, good[:5] + good[-12:]) == f"{few}17 queries, 5 with an answer"
    assert refused(plain, good[-12:]).startswith("no query has an answer in the index")
    both = [*good, {"query": good[0]["query"], "doc": ""}]
    assert refused(plain, both).endswith("has an answer in one row and none in row 1")
    graded = [{**good[0], "relevance": "1"}, {**good[0], "relevance": "0.0"}]
    assert refused(plain, graded) == "doc 'r0' has relevance 0.0, and 1 in row 1"
    only = [{"query": row["query"], "shown": "r1"} for row in good]
    assert refused(plain, only) == "expected a column doc, or shown and chosen, found neither"
    every = [{**row, "shown": "r1", "chosen": "r1"} for row in good]
    assert refused(plain, every) == "expected a column doc, or shown and chosen, found both"
