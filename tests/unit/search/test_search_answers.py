"""Vectors of rows hold a share of the answer, where it says something."""

import json

import numpy as np
import pytest

import softquery as sq
from softquery.errors import ConfigError
from softquery.search import Index, IndexSettings
from softquery.search.query.answer_vectors import LONGEST, SHARE

ROWS = [
    {"id": "a", "question": "How do I reset my password?", "answer": "Choose Forgot password."},
    {"id": "b", "question": "How long does delivery take?", "answer": "17"},
    {"id": "c", "question": "Which cards do you accept?"},
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A sentence encoder of random weights."""
    from small_sentence_encoders import make_sentence_encoder

    return str(make_sentence_encoder(tmp_path_factory.mktemp("encoder") / "model"))


def built(place, encoder, rows, **settings):
    options = IndexSettings(vectors=encoder, **settings)
    return Index.build(rows, place / "faq.sq", model="match-en", settings=options, threads=1)


def vectors_of(index):
    """The stored vectors by the questions of their rows."""
    return {
        segment.cells.text(row, "question"): segment.vectors.stored[row].astype(np.float64)
        for segment in index.segments
        for row in np.flatnonzero(segment.live).tolist()
    }


def expected(encoder, question, answer):
    own, other = sq.load(encoder).encode([question, answer]).astype(np.float64)
    found = own + SHARE * other
    return found / np.linalg.norm(found)


def test_a_vector_holds_a_share_of_an_answer_that_says_something(tmp_path, encoder):
    index = built(tmp_path, encoder, ROWS)
    assert index.manifest.settings.answer_share == SHARE
    found = vectors_of(index)
    mixed = expected(encoder, ROWS[0]["question"], ROWS[0]["answer"])
    assert found[ROWS[0]["question"]] @ mixed > 0.999
    alone = sq.load(encoder).encode([row["question"] for row in ROWS])
    assert found[ROWS[0]["question"]] @ alone[0] < 0.999
    for row, vector in list(zip(ROWS, alone, strict=True))[1:]:
        assert found[row["question"]] @ vector > 0.999


def test_further_texts_hold_it_too_and_passages_of_the_answer_do_not(tmp_path, encoder):
    answer = "Write to us. " * 400
    row = {"id": "a", "question": "How do I pay?", "answer": answer, "phrasings": "Take cards?"}
    found = vectors_of(built(tmp_path, encoder, [row], text_columns=("answer",)))
    for question in ("How do I pay?", "Take cards?"):
        assert found[question] @ expected(encoder, question, answer[:LONGEST]) > 0.999
    (passage,) = {text for text in found if text.startswith("Write")}
    assert found[passage] @ sq.load(encoder).encode([passage])[0] > 0.999


def test_an_index_from_before_goes_on_as_it_was(tmp_path, encoder):
    index = built(tmp_path, encoder, ROWS[:1], answer_share=0.0)
    path = index.path / "manifest.json"
    data = json.loads(path.read_text())
    assert data["settings"].pop("answer_share") == 0
    path.write_text(json.dumps(data))
    again = Index.open(index.path, threads=1)
    again.add([{"id": "z", "question": "Where is it?", "answer": "By the link in our e-mail."}])
    alone = sq.load(encoder).encode(["Where is it?"])[0]
    assert vectors_of(again)["Where is it?"] @ alone > 0.999
    again = Index.rebuild(index.path, threads=1)
    assert again.manifest.settings.answer_share == 0


def test_other_vectors_and_scores_hold_none(tmp_path, encoder):
    index = built(tmp_path, encoder, ROWS, score="fused")
    assert index.manifest.settings.answer_share == 0
    index = Index.rebuild(index.path, threads=1)
    assert index.manifest.settings.answer_share == SHARE
    index = Index.rebuild(index.path, vectors="states", threads=1)
    assert index.manifest.settings.answer_share == 0


@pytest.mark.parametrize("share", [-0.1, 1.5, "much", float("nan")])
def test_a_share_is_from_0_to_1(share):
    with pytest.raises(ConfigError, match="answer_share must be from 0 to 1"):
        IndexSettings(answer_share=share)
