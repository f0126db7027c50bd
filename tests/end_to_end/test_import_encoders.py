"""`softquery import sentence-transformers` and `import static`: from a folder to answers."""

import json

import numpy as np
import pytest

pytest.importorskip("transformers", reason="folders are made by it")

from running import softquery

import softquery as sq
from sentence_folders import TEXTS, write_cross_encoder, write_sentence_folder, write_static
from softquery.bundle import read_bundle


def imported(tmp_path, kind, folder):
    answer = softquery("import", kind, folder, "--output", tmp_path / "model", "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_an_encoder_can_be_used_at_once(kind, tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs", kind)
    facts = imported(tmp_path, "sentence-transformers", folder)
    assert (facts["name"], facts["config"]["pools"]) == (f"{kind}-sentence-encoder", ["mean"])
    assert read_bundle(tmp_path / "model").is_exported
    encoder = sq.load(tmp_path / "model")
    assert encoder.backend.name == "onnx"
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 12)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_cross_encoder_ranks(tmp_path):
    facts = imported(tmp_path, "sentence-transformers", write_cross_encoder(tmp_path / "theirs"))
    assert facts["task"] == {"name": "grade", "low": 0.0, "high": 1.0}
    matcher = sq.load(tmp_path / "model")
    ranked = matcher.rank("the cat", TEXTS[2:6])
    assert sorted(each["corpus_id"] for each in ranked) == [0, 1, 2, 3]


def test_a_cross_encoder_reranks_what_an_index_recalls(tmp_path):
    imported(tmp_path, "sentence-transformers", write_cross_encoder(tmp_path / "theirs"))
    (tmp_path / "faq.jsonl").write_text(
        "".join(
            json.dumps({"id": str(n), "question": text}) + "\n" for n, text in enumerate(TEXTS[2:6])
        )
    )
    place = tmp_path / "faq.sq"
    made = softquery(
        "index", tmp_path / "faq.jsonl", "--output", place, "--model", tmp_path / "model", "--json"
    )
    assert json.loads(made.out)["vectors"] == "embed-en"
    for stages in ("rerank", "words,rerank", "words,vectors", "words,vectors,rerank"):
        found = softquery(
            "search", place, TEXTS[2], "--stages", stages, "--min-score", "0", "--json"
        )
        assert json.loads(found.out)["stages"] == stages.split(",")
    hits = sq.Index.open(place).search("the cat", stages=["rerank"], min_score=0.0)
    ranked = sq.load(tmp_path / "model").rank("the cat", TEXTS[2:6])
    assert [hit["id"] for hit in hits] == [str(each["corpus_id"]) for each in ranked]
    refused = softquery("search", place, "the cat", "--explain", tmp_path / "why.svg")
    assert (refused.code, "aligns no words" in refused.err) == (2, True)


def test_a_static_table(tmp_path):
    folder = write_static(tmp_path / "theirs")
    facts = imported(tmp_path, "static", folder)
    assert facts["config"]["body"] == "static"
    assert sq.load(tmp_path / "model").encode(["the cat"]).shape == (1, 6)


def test_the_table_names_what_came_along(tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs", pools=("cls_token", "mean_tokens"))
    answer = softquery("import", "sentence-transformers", folder, "--output", tmp_path / "model")
    for part in ("bert-sentence-encoder", "cls, mean", "24", "20 pieces"):
        assert part in answer.out


def test_a_bare_bert_out_of_such_a_folder_says_what_is_lost(tmp_path):
    folder = write_sentence_folder(tmp_path / "theirs")
    answer = softquery("import", "bert", folder, "--output", tmp_path / "model", "--json")
    assert answer.code == 0
    assert "use softquery import sentence-transformers" in " ".join(answer.err.split())
    assert json.loads(answer.out)["pooler"] is True
