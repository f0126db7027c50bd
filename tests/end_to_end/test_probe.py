"""`softquery probe` as users type it."""

import json
import re

import numpy as np
import pytest
from running import softquery

from small_elmo import write_elmo
from small_senses import write_senses, write_tags
from softquery.files import VectorTable, write_vectors


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probe")
    write_senses(folder / "senses")
    write_tags(folder / "tags")
    write_elmo(folder / "elmo")
    words = ["bank", "money", "rivers", "can", "the", "they"]
    matrix = np.random.default_rng(1).normal(size=(len(words), 5)).astype(np.float32)
    write_vectors(folder / "glove.txt", VectorTable(words, matrix), form="glove")
    return folder


def sources(place):
    return ["--model", place / "elmo", "--vectors", place / "glove.txt"]


LAYERS = ["elmo layer 0", "elmo layer 1", "elmo layer 2", "elmo mean of layers", "glove"]


def test_senses_as_json_and_as_a_picture(place, tmp_path):
    pytest.importorskip("matplotlib")
    words = ["--held-out", 0.2, "--seed", 3, "--json", "--plot", tmp_path / "senses.png"]
    answer = softquery("probe", "senses", "--data", place / "senses", *sources(place), *words)
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert report.keys() == {"semcor", "small"}
    systems = report["semcor"]["systems"]
    assert list(systems) == ["first sense", "commonest sense", *LAYERS]
    assert report["semcor"]["n"] == 12
    assert systems["first sense"]["accuracy"] == pytest.approx(10 / 12)
    assert systems["glove"]["accuracy"] == pytest.approx(10 / 12)  # no context
    assert len(report["semcor"]["comparisons"]) == 6
    assert (tmp_path / "senses.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"glove\.txt: has \d+\.\d% of \d+ different words", answer.err)


def test_tags_as_a_table(place):
    answer = softquery("probe", "tags", "--data", place / "tags", *sources(place))
    assert answer.code == 0, answer.err
    assert "dev: senses of 18 words in 6 sentences" in answer.out
    assert "commonest tag" in answer.out
    assert "layers compared on the same sentences" in answer.out
    assert answer.out.count("elmo layer 2") >= 1


def test_the_same_model_twice_keeps_two_names(place):
    words = ["--model", place / "elmo", "--model", place / "elmo", "--json"]
    answer = softquery("probe", "tags", "--data", place / "tags", *words)
    first, second = json.loads(answer.out)["dev"]["systems"], "elmo (2) layer 1"
    assert first["elmo layer 1"]["accuracy"] == first[second]["accuracy"]


def test_word_vectors_may_be_a_bundle(place, tmp_path):
    bundle = tmp_path / "glove"
    assert softquery("import", "vectors", place / "glove.txt", "--output", bundle).code == 0
    words = ["--vectors", place / "glove.txt", "--vectors", bundle, "--json"]
    answer = softquery("probe", "tags", "--data", place / "tags", *words)
    assert answer.code == 0, answer.err
    systems = json.loads(answer.out)["dev"]["systems"]
    assert systems["glove"]["accuracy"] == systems["glove (2)"]["accuracy"]
    wrong = softquery("probe", "tags", "--data", place / "tags", "--vectors", place / "elmo")
    assert (wrong.code, wrong.err) == (
        2,
        f"softquery: {place / 'elmo'}: expected word vectors, found kind 'embedder'\n",
    )
