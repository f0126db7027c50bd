"""Components in spaCy's own pipelines: called, piped, saved and loaded."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("spacy", reason='needs "softquery[spacy]"')
pytest.importorskip("softquery_models", reason="needs softquery-models")

import spacy
from spacy.tokens import Doc, Span

import softquery
from softquery.errors import ConfigError
from softquery.integrations.spacy import DocTagger
from softquery.zoo import resolve

TEXT = "The bank of the river.  \n The bank lends money to John Smith."
SPANS = ["O", *(f"{place}-{kind}" for kind in ("A", "B", "C", "D") for place in "BIES")]
"""As many tags as tagger-en has, all of them parts of spans."""


def pipeline(*names, **config):
    nlp = spacy.blank("en")
    for name in names:
        nlp.add_pipe(name, config={"threads": 1, **config})
    return nlp


@pytest.fixture(scope="module")
def tagging():
    return pipeline("softquery_tagger")


@pytest.fixture(scope="module")
def words_in_context():
    return pipeline("softquery_vectors")


def test_tags_are_those_of_the_model(tagging):
    doc = tagging(TEXT)
    words = [token.text for token in doc if not token.is_space]
    (own,) = softquery.load("tagger-en", threads=1).predict([words])
    assert [token.tag_ for token in doc if not token.is_space] == list(own.tags)
    assert [token.pos_ for token in doc if not token.is_space] == list(own.tags)
    assert [token.tag_ for token in doc if token.is_space] == [""]
    assert doc.has_annotation("TAG")


def test_many_documents_are_as_each_by_itself(tagging, words_in_context):
    texts = ["A man eats.", "", " ", TEXT, "It rains."]
    for nlp in (tagging, words_in_context):
        for one, piped in zip(map(nlp, texts), nlp.pipe(texts, batch_size=2), strict=True):
            assert [token.tag_ for token in one] == [token.tag_ for token in piped]
            assert np.allclose(one.tensor, piped.tensor, atol=1e-5)


def test_words_have_vectors_in_context(words_in_context):
    doc = words_in_context(TEXT)
    words = [token.text for token in doc if not token.is_space]
    (own,) = softquery.load("elmo-en", threads=1).embed([words], layers="mix")
    kept = [token for token in doc if not token.is_space]
    assert np.allclose([token.vector for token in kept], own[0], atol=1e-6)
    first, second = (token for token in kept if token.text == "bank")
    assert not np.allclose(first.vector, second.vector)
    assert 0 < first.similarity(second) < 0.99
    assert np.allclose(doc[0:2].vector, doc.tensor[0:2].mean(axis=0))
    assert np.allclose(doc.vector, doc.tensor.mean(axis=0))
    assert (kept[0].has_vector, doc[6].is_space, doc[6].has_vector) == (True, True, False)
    assert doc.vector_norm == pytest.approx(np.linalg.norm(doc.vector))


def test_sentence_vectors_compare_documents_and_spans():
    nlp = pipeline("softquery_vectors", model="embed-en")
    model = softquery.load("embed-en", threads=1)
    doc, other = nlp("A man is eating. It rains."), nlp("Someone eats.")
    assert np.array_equal(doc.vector, model.encode([doc.text])[0])
    assert np.array_equal(doc[0:5].vector, model.encode(["A man is eating."])[0])
    assert doc[0:5].similarity(other) > doc[5:8].similarity(other)
    wanted = model.similarity([doc.text], [other.text])[0, 0]
    assert doc.similarity(other) == pytest.approx(wanted, abs=1e-5)


def test_a_saved_pipeline_finds_its_components(tagging, tmp_path):
    tagging.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp")
    assert [token.tag_ for token in again(TEXT)] == [token.tag_ for token in tagging(TEXT)]


def test_annotations_survive_bytes(tagging, words_in_context):
    doc = words_in_context(tagging(TEXT))
    with pytest.warns(UserWarning, match="user hooks"):
        stored = doc.to_bytes()
    again = Doc(tagging.vocab).from_bytes(stored)
    assert [token.tag_ for token in again] == [token.tag_ for token in doc]
    assert np.array_equal(again.tensor, doc.tensor)


def test_tags_of_spans_become_entities(tmp_path):
    shutil.copytree(resolve("tagger-en"), tmp_path / "spans")
    config = json.loads((tmp_path / "spans" / "config.json").read_text())
    config["task"].update(labels=SPANS, scheme="bioes", written="iob2")
    (tmp_path / "spans" / "config.json").write_text(json.dumps(config))
    tagger = softquery.load(tmp_path / "spans", threads=1)
    nlp = spacy.blank("en")
    doc = nlp(TEXT)
    kept = [token for token in doc if not token.is_space]
    (own,) = tagger.predict([[token.text for token in kept]])
    assert own.spans
    DocTagger(tagger)(doc)
    assert [(each.label_, each.start, each.end) for each in doc.ents] == [
        (each.label, kept[each.start].i, kept[each.end - 1].i + 1) for each in own.spans
    ]
    known = nlp(TEXT)
    known.ents = [Span(known, 0, len(known), label="ALL")]
    DocTagger(tagger)(known)
    assert [each.label_ for each in known.ents] == ["ALL"]


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="^embed-en: is no tagger$"):
        pipeline("softquery_tagger", model="embed-en")
    with pytest.raises(ConfigError, match="a sentence encoder, got Matcher$"):
        pipeline("softquery_vectors", model="match-en")
    with pytest.raises(ConfigError, match="^layers must be one: .*got 'all'$"):
        pipeline("softquery_vectors", layers="all")


def test_the_page(run_examples):
    assert run_examples("spaCy") >= 5
