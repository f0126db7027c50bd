"""`--init`: what a run takes over from a bundle, and what it does not."""

import numpy as np
import pytest
from reading import assert_equal, config, weights
from running import settings, softquery, train
from tiny_pairs import english, inference, write_folder

STILL = {"lr": 1e-20}
"""A learning rate that leaves every weight where it starts."""
ONE_STEP = {"max_steps": 1}


def assert_same_text(one, other):
    """The text pipeline travels: the same vocabulary, used in the same way."""
    assert (one / "tokenizer.json").read_bytes() == (other / "tokenizer.json").read_bytes()
    assert config(one)["text"] == config(other)["text"]


def test_init_with_the_same_labels_takes_every_weight(english_run, english_data, tmp_path):
    """Sizes and vocabulary come along, whatever the recipe says."""
    start, _ = english_run
    words = ["--init", start, "--set", "optim.lr=1e-20", "--set", "training.max_steps=1"]
    answer = train("esim", english_data, tmp_path / "model", *words)
    given = weights(start)
    assert f"started from {len(given)} of {len(given)} weights\n" in answer.err
    assert "that is started from: embedding_size = 8, hidden_size = 8\n" in answer.err
    assert_equal(given, weights(tmp_path / "model"))
    assert_same_text(start, tmp_path / "model")
    assert config(tmp_path / "model")["model"]["config"]["dropout"] == 0.5  # the recipe's own


@pytest.mark.parametrize("count", [2, 3])
def test_init_with_other_labels_gets_a_new_last_layer(english_run, tmp_path, count):
    """As many labels as before do not make them the same ones."""
    start, _ = english_run
    names = {"same": "ja", "different": "nein"}
    rows = [(one, two, names[label]) for one, two, label in english(150, seed=2)]
    data = write_folder(tmp_path / "data", rows if count == 2 else inference(150))
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("esim", data, tmp_path / "model", *words, "--init", start)
    new = {"classifier.4.bias", "classifier.4.weight"}
    assert "; new: classifier.4.bias, classifier.4.weight\n" in answer.err
    given, made = weights(start), weights(tmp_path / "model")
    assert_equal(given, made, set(given) - new)
    assert made["classifier.4.weight"].shape == (count, 8)
    assert not np.array_equal(made["classifier.4.weight"], given["classifier.4.weight"])
    assert_same_text(start, tmp_path / "model")


def test_init_keeps_the_order_of_the_labels(inference_run, tmp_path):
    """Found in a file they would be sorted, and each weight would speak for another label."""
    start, data = inference_run
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("siamese", data, tmp_path / "model", *words, "--init", start)
    assert "new:" not in answer.err
    labels = ["entailment", "neutral", "contradiction"]
    assert config(tmp_path / "model")["task"]["labels"] == labels
    assert_equal(weights(start), weights(tmp_path / "model"))


def test_init_takes_what_fits_of_another_model(english_run, english_data, tmp_path):
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("siamese", english_data, tmp_path / "model", *words, "--init", english_run[0])
    assert "new: head.layers.1.bias, head.layers.1.weight" in answer.err
    given, made = weights(english_run[0]), weights(tmp_path / "model")
    assert_equal(given, made, ["embedder.table.weight", "encoder.forwards.weight_hh_l0"])


def test_init_and_vectors_exclude_each_other(english_run, english_data, tmp_path):
    command = ["train", "esim", "--data", english_data, "--output", tmp_path / "model"]
    answer = softquery(*command, "--init", english_run[0], "--vectors", tmp_path / "glove.txt")
    assert answer.code == 2
    told = "softquery: --init brings its own word vectors; omit --vectors\n"
    assert answer.err.endswith(told)
    assert list(tmp_path.iterdir()) == []
