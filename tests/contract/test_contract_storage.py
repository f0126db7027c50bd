"""Weights come back as they went, through a state dict and through a real bundle."""

import dataclasses

import pytest
import torch
from model_cases import CASES
from stored import stored

from softquery.errors import BundleError
from softquery.runtime.torch_models import build_model, load_matcher_model
from softquery.text import TextConfig, build_pipeline

every_model = pytest.mark.parametrize("case", CASES, ids=str)


def answers(model, case):
    with torch.inference_mode():
        return model.eval()(case.batch()).logits


def bundled(model, case, folder, **changes):
    pipeline = build_pipeline(["a man sleeps"], TextConfig())
    return stored(model, case, folder, "matcher", pipeline, **changes)


@every_model
def test_a_state_dict_brings_the_weights_back(case):
    model, other = case.build(seed=1), case.build(seed=2)
    assert not torch.equal(answers(model, case), answers(other, case))
    other.load_state_dict(model.state_dict())
    assert torch.equal(answers(model, case), answers(other, case))


@every_model
def test_a_bundle_brings_the_model_back(case, tmp_path):
    model = case.build(dropout=0.5)
    back = load_matcher_model(bundled(model, case, tmp_path / "model"))
    assert not back.training
    assert back.config == model.config
    for name, value in model.state_dict().items():
        assert torch.equal(value, back.state_dict()[name]), name
    assert torch.equal(answers(back, case), answers(model, case))


@every_model
def test_a_bundle_whose_sizes_lie_is_refused_in_one_line(case, tmp_path):
    bundle = bundled(case.build(), case, tmp_path / "model", hidden_size=7)
    with pytest.raises(BundleError, match="does not fit config.json") as caught:
        load_matcher_model(bundle)
    assert "\n" not in str(caught.value)


@every_model
def test_an_unknown_setting_is_named(case):
    settings = {**dataclasses.asdict(case.build().config), "hiden_size": 3}
    with pytest.raises(BundleError, match=rf"{case.name} has no setting 'hiden_size'"):
        build_model(case.name, settings)
