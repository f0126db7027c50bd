"""What a task reads of a biLM's layers: from the weights to the card."""

import math

import numpy as np
import pytest
from bundle_parts import sound_parts, write_sound

from softquery.bundle import read_bundle
from softquery.bundle.layer_weights import TITLE, layer_shares, learnt_layers, with_layers

WEIGHTS = {
    "embedder.mixes.input.weights": np.log([1.0, 6.0, 3.0]).astype(np.float32),
    "embedder.mixes.input.scale": np.array(0.5, np.float32),
}
AT_OUTPUT = {
    "embedder.mixes.output.weights": np.array([7.0], np.float32),
    "embedder.mixes.output.scale": np.array(2.0, np.float32),
}


def with_mixes(folder, **more):
    return read_bundle(write_sound(folder, weights={**sound_parts()["weights"], **more}))


def test_shares_are_the_softmax_of_what_was_learnt(tmp_path):
    [mix] = learnt_layers(with_mixes(tmp_path / "mixed", **WEIGHTS))
    raised = [math.exp(each) for each in WEIGHTS["embedder.mixes.input.weights"]]
    np.testing.assert_allclose(mix.shares, [each / sum(raised) for each in raised], rtol=1e-6)
    assert (mix.place, mix.scale) == ("input", 0.5)


def test_both_places_stand_under_each_other_and_the_highest_layer_last(tmp_path):
    mixes = learnt_layers(with_mixes(tmp_path / "mixed", **AT_OUTPUT, **WEIGHTS))
    lines = with_layers("# cats\n", mixes).splitlines()
    assert f"## {TITLE}" in lines
    assert "| read at | layer 0 | layer 1 | layer 2 | γ |" in lines
    assert "| input | 0.10 | 0.60 | 0.30 | 0.50 |" in lines
    assert "| output |  |  | 1.00 | 2.00 |" in lines


def test_a_card_that_has_the_section_keeps_one(tmp_path):
    mixes = learnt_layers(with_mixes(tmp_path / "mixed", **WEIGHTS))
    once = with_layers("# cats\n\n## Limits\n\nDogs.\n", mixes)
    assert once.count(f"## {TITLE}") == with_layers(once, mixes).count(f"## {TITLE}") == 1


def test_a_model_without_a_bilm_has_no_mixes(folder):
    assert learnt_layers(read_bundle(folder)) == []


@pytest.mark.parametrize(
    "forged",
    [np.zeros((2, 2), np.float32), np.zeros(0, np.float32), np.array([np.nan, 0], np.float32)],
    ids=["a matrix", "nothing", "no numbers"],
)
def test_what_is_no_mix_is_passed_over(forged):
    assert layer_shares({**WEIGHTS, "embedder.mixes.input.weights": forged}) == []
    assert layer_shares({"embedder.mixes.input.weights": np.zeros(3, np.float32)}) == []
