"""Probes on text where it is known which layer can tell."""

import numpy as np
import pytest

from small_senses import Neighbours, write_senses, write_tags
from softquery.errors import InputError
from softquery.files import VectorTable, write_vectors
from softquery.runtime.probe.layers import (
    VectorLayers,
    layer_names,
    read_layers,
    read_vector_layers,
)
from softquery.runtime.probe.sense_probe import probe_senses, read_sense_sets
from softquery.runtime.probe.tag_probe import probe_tags, read_tag_sets


@pytest.fixture(scope="module")
def sense_sets(tmp_path_factory):
    return read_sense_sets(write_senses(tmp_path_factory.mktemp("senses")), held_out=0.2)


@pytest.fixture(scope="module")
def tag_sets(tmp_path_factory):
    return read_tag_sets(write_tags(tmp_path_factory.mktemp("tags")))


def test_documents_are_held_out_whole(sense_sets, tmp_path):
    trained = {each.document for each in sense_sets.train}
    held = {each.document for each in sense_sets.held_out}
    assert (len(trained), len(held), trained & held) == (8, 2, set())
    folder = write_senses(tmp_path)
    held_again = [
        {each.document for each in read_sense_sets(folder, held_out=0.2, seed=seed).held_out}
        for seed in (1, 1, 2)
    ]
    assert held_again[0] == held == held_again[1] != held_again[2]
    for share in (0.0, 0.01, 1.0):
        with pytest.raises(InputError, match=r"of 10 documents, \d+% cannot be held out"):
            read_sense_sets(folder, held_out=share)


def test_context_tells_senses_apart(sense_sets):
    found = probe_senses(sense_sets, {"toy": Neighbours()})
    assert found.keys() == {"semcor", "small"}
    right = {name: system.right.tolist() for name, system in found["semcor"].systems.items()}
    # Each document: three banks of money, one of rivers, `said` and `took place`.
    commonest = [True, True, True, False, True, True] * 2
    assert list(right) == ["first sense", "commonest sense", "toy layer 0", "toy layer 1",
                           "toy mean of layers"]  # fmt: skip
    assert right["first sense"] == right["commonest sense"] == right["toy layer 0"] == commonest
    assert right["toy layer 1"] == [True] * 12
    assert found["semcor"].families == [["toy layer 0", "toy layer 1", "toy mean of layers"]]


def test_a_task_is_answered_from_all_of_semcor(sense_sets):
    task = probe_senses(sense_sets, {"toy": Neighbours()})["small"]
    assert task.systems["first sense"].right.tolist() == [False, True, False]
    assert task.systems["first sense"].answered.tolist() == [True, True, False]
    assert task.systems["toy layer 1"].right.tolist() == [True, True, False]
    assert task.systems["toy layer 1"].f1 == pytest.approx(2 * 2 / (3 + 2))


def test_a_word_without_a_vector_gets_the_first_sense(sense_sets):
    vectors = VectorTable(["said"], np.ones((1, 3), dtype=np.float32))
    found = probe_senses(sense_sets, {"w": VectorLayers(vectors)})["semcor"]
    assert list(found.systems) == ["first sense", "commonest sense", "w"]
    assert (found.systems["w"].right == found.systems["first sense"].right).all()


def test_progress_counts_every_sentence(sense_sets):
    done = []
    probe_senses(sense_sets, {"toy": Neighbours()}, done.append)
    assert sum(done) == sense_sets.num_sentences == 51


def test_context_tells_tags_apart(tag_sets):
    found = probe_tags(tag_sets, {"toy": Neighbours()})
    accuracy = {name: system.accuracy for name, system in found.systems.items()}
    # `can` is an auxiliary most often.
    expected = [True, False, True, True, True, True]
    assert found.systems["commonest tag"].right.tolist() == expected * 3
    assert accuracy["toy layer 0"] < accuracy["toy layer 1"] == 1.0
    assert list(accuracy)[1:] == ["toy layer 0", "toy layer 1", "toy mean of layers"]


def test_layers_come_in_order_with_their_mean():
    sentences = [["a"] * (1 + number % 3) for number in range(1100)]
    layers = list(read_layers(Neighbours(), sentences, lambda done: None))
    assert [each.shape for each in layers] == [(3, len(s), Neighbours.size) for s in sentences]
    np.testing.assert_allclose(layers[5][2], layers[5][:2].mean(axis=0), rtol=1e-6)
    assert layer_names(3) == ["layer 0", "layer 1", "mean of layers"]


def test_vectors_of_a_file(tmp_path):
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    path = tmp_path / "vectors.txt"
    write_vectors(path, VectorTable(["bank", "Bank", "river"], matrix), form="glove")
    source = read_vector_layers(path, ["Bank", "River"])
    (found,) = source([["Bank", "River", "none"]])
    assert found.tolist() == [[[2.0, 3.0], [4.0, 5.0], [0.0, 0.0]]]
    assert [source.covers(word) for word in ("BANK", "none")] == [True, False]
    with pytest.raises(InputError, match=r"vectors\.txt: holds no vector for any word"):
        read_vector_layers(path, ["other"])
