"""An index whose model was replaced is refused, and made anew from the rows that it holds."""

import json
import shutil

import pytest

from small_bundles import exported, make_bundle
from softquery.errors import ConfigError, InputError, SoftqueryError
from softquery.runtime import load_matcher
from softquery.search import Index, IndexSettings
from softquery.search.storage import store as store_module


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    """A matcher of the same sizes as `model`, with other weights."""
    plain = make_bundle(tmp_path_factory.mktemp("plain") / "newer", size=8, outputs=2, seed=2)
    return exported(plain, tmp_path_factory.mktemp("search") / "newer").bundle


@pytest.fixture
def own(model, tmp_path):
    """A model that a test may replace."""
    return shutil.copytree(model, tmp_path / "own")


def replaced(own, newer):
    shutil.rmtree(own)
    shutil.copytree(newer, own)


@pytest.fixture
def faq(rows, own, tmp_path):
    """An index of two segments, with replaced and deleted rows, and settings of its own."""
    settings = IndexSettings(
        min_score=0.25, encodings="float16", word_columns=("question", "answer"), recall_weight=50.0
    )
    index = Index.build(rows, tmp_path / "faq.sq", model=own, settings=settings, threads=1)
    index.add([{"id": "r1", "question": "w5 w6", "colour": "red"}, {"question": "w7 w8 w9"}])
    index.delete(["r3"])
    return index


def test_a_replaced_model_is_refused_with_the_command(faq, own, newer):
    replaced(own, newer)
    with pytest.raises(InputError) as caught:
        Index.open(faq.path)
    said = str(caught.value)
    assert said.startswith(f"{faq.path}: was made with another own (fingerprint ")
    assert said.endswith(f"; softquery index {faq.path} --rebuild makes it anew with today's")
    for other in (newer, load_matcher(newer)):
        with pytest.raises(InputError, match=f"--rebuild --model {newer} changes it to that"):
            Index.open(faq.path, model=other)
    for same in (own, load_matcher(own)):
        with pytest.raises(InputError, match="--rebuild makes it anew with today's"):
            Index.open(faq.path, model=same)


def test_a_model_that_was_moved_and_changed(faq, own, newer):
    shutil.rmtree(own)
    with pytest.raises(InputError, match=f"--rebuild --model {newer} changes it to that"):
        Index.open(faq.path, model=newer)


def test_replaced_vectors_are_refused_with_the_command(rows, model, siamese, tmp_path):
    encoder = shutil.copytree(siamese, tmp_path / "encoder")
    settings = IndexSettings(vectors=str(encoder))
    Index.build(rows, tmp_path / "faq.sq", model=model, settings=settings, threads=1)
    config = json.loads((encoder / "config.json").read_bytes())
    config["library_version"] = "0.0.9"
    (encoder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match="another encoder .*faq.sq --rebuild makes it anew"):
        Index.open(tmp_path / "faq.sq")
    Index.rebuild(tmp_path / "faq.sq", threads=1)
    assert len(Index.open(tmp_path / "faq.sq")) == len(rows)


def test_rows_and_settings_stay_and_scores_are_the_new_ones(faq, own, newer, tmp_path):
    before, kept = list(faq.rows()), faq.manifest
    replaced(own, newer)
    done = []
    index = Index.rebuild(faq.path, threads=1, advance=done.append)
    assert done == [len(before)]
    assert list(index.rows()) == before
    assert index.last_changes.rebuilt == len(before)
    assert index.manifest.columns == kept.columns
    assert index.manifest.generation == kept.generation + 1
    assert len(index.segments) == 1
    for name in ("vectors", "encodings", "word_columns", "recall_weight"):
        assert getattr(index.manifest.settings, name) == getattr(kept.settings, name)
    fresh = Index.build(
        before, tmp_path / "new.sq", model=newer, settings=index.manifest.settings, threads=1
    )
    for query in ("w1 w2", "w5 w6 w7", "w40"):
        again = Index.open(faq.path).search(query, min_score=0.0, top_k=20)
        assert again == fresh.search(query, min_score=0.0, top_k=20)
    assert [each.name for each in (faq.path / "segments").iterdir()] == [
        index.manifest.segments[0].name
    ]


@pytest.mark.parametrize(
    ("stored", "given", "kept", "dropped"),
    [
        (0.25, None, None, {"min_score": 0.25}),
        (0.25, 0.25, 0.25, {}),
        (0.25, 0.0, 0.0, {}),
        (0.0, None, 0.0, {}),  # every row is an answer, whoever scores it
        (None, None, None, {}),
        (None, 0.5, 0.5, {}),
    ],
)
def test_a_threshold_of_other_scores_is_dropped(faq, own, newer, stored, given, kept, dropped):
    faq.set_min_score(stored)
    replaced(own, newer)
    index = Index.rebuild(faq.path, min_score=given, threads=1)
    assert index.manifest.settings.min_score == kept
    assert index.last_changes.dropped == dropped
    assert Index.open(faq.path).manifest.settings.min_score == kept


def test_a_threshold_stays_where_the_matcher_does(faq):
    index = Index.rebuild(faq.path, vectors="words", threads=1)
    assert (index.min_score, index.last_changes.dropped) == (0.25, {})
    assert index.manifest.vector_source == "words"
    assert Index.rebuild(faq.path, threads=1).manifest.vector_source == "words"


def test_a_matcher_of_another_form(faq, siamese):
    index = Index.rebuild(faq.path, model=siamese, threads=1)
    assert index.manifest.model == str(siamese)
    assert index.manifest.vector_source == "encoding"
    assert index.search("w5 w6", min_score=0.0)[0]["question"]
    assert len(Index.open(faq.path)) == len(faq)


def test_an_index_without_rows(faq, newer):
    faq.delete([row["id"] for row in faq.rows()])
    index = Index.rebuild(faq.path, model=newer, threads=1)
    assert (len(index), index.segments, index.search("w1")) == (0, (), [])
    index.add([{"question": "w1"}])
    assert index.search("w1", min_score=0.0)


def test_whoever_has_it_open_keeps_what_it_had(faq, own, newer):
    hits = faq.search("w1 w2", min_score=0.0)
    Index.rebuild(faq.path, model=newer, threads=1)
    for change in (faq.refresh, lambda: faq.add([{"question": "w1"}]), faq.compact):
        with pytest.raises(InputError, match="was rebuilt with another model in the meantime"):
            change()
    assert faq.search("w1 w2", min_score=0.0) == hits


def test_writers_wait_for_each_other(faq, newer):
    with faq._store.writing(), pytest.raises(InputError, match="is being written by another"):
        Index.rebuild(faq.path, model=newer)


@pytest.mark.parametrize("step", ["encoding", "manifest"])
def test_what_fails_changes_nothing(faq, newer, monkeypatch, step):
    """Interrupted while rows are encoded, or when all of them are and nothing was committed."""
    before, hits = faq.manifest, faq.search("w1 w2", min_score=0.0)

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if step == "manifest":
            patched.setattr(store_module.Store, "become", stop)
        with pytest.raises(KeyboardInterrupt):
            Index.rebuild(
                faq.path, model=newer, threads=1, advance=stop if step == "encoding" else print
            )
    index = Index.open(faq.path)
    assert (index.manifest, index.search("w1 w2", min_score=0.0)) == (before, hits)
    index.compact()  # any writer removes what was left
    assert len(list((faq.path / "segments").iterdir())) == 1


def test_refusals(faq, newer, tmp_path):
    before = faq.manifest
    with pytest.raises(InputError, match="no such index"):
        Index.rebuild(tmp_path / "none.sq")
    with pytest.raises(SoftqueryError, match="no model called 'match-xx'"):
        Index.rebuild(faq.path, model="match-xx")
    with pytest.raises(SoftqueryError, match="gives no vectors of texts"):
        Index.rebuild(faq.path, vectors=str(newer))
    with pytest.raises(ConfigError, match="min_score"):
        Index.rebuild(faq.path, min_score=7)
    assert Index.open(faq.path).manifest == before
    faq._store.commit(unfinished=True)
    with pytest.raises(InputError, match="was never finished: give the command"):
        Index.rebuild(faq.path)
