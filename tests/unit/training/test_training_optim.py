"""Learning rates by hand, the optimiser, and settings that cannot be."""

import math

import pytest
import torch
from torch import nn

from elmo_cases import ElmoCase
from softquery.errors import ConfigError
from softquery.models import Esim, EsimConfig
from softquery.nn import ElmoSettings
from softquery.training import Optim, Schedule
from softquery.training.optim import build_optimizer, layers_above, set_learning_rate


def course(schedule, total):
    return [schedule.scale(step, total) for step in range(total)]


def test_nothing_moves_by_default():
    assert course(Schedule(), 5) == [1.0] * 5


@pytest.mark.parametrize("decay", ["none", "linear", "cosine", "inverse_sqrt"])
def test_the_warm_up_rises_to_one(decay):
    schedule = Schedule(warmup_steps=4, decay=decay)
    assert course(schedule, 10)[:4] == [0.25, 0.5, 0.75, 1.0]


def test_linear_decay_falls_to_zero_in_equal_steps():
    assert course(Schedule(decay="linear"), 4) == [1.0, 0.75, 0.5, 0.25]
    assert Schedule(decay="linear").scale(4, 4) == 0.0
    assert Schedule(decay="linear").scale(9, 4) == 0.0


def test_cosine_decay_is_half_a_wave():
    schedule = Schedule(warmup_steps=2, decay="cosine")
    wanted = [0.5 * (1 + math.cos(math.pi * step / 8)) for step in range(8)]
    assert course(schedule, 10)[2:] == pytest.approx(wanted)


def test_inverse_square_root_goes_on_where_the_warm_up_ends():
    schedule = Schedule(warmup_steps=4, decay="inverse_sqrt")
    assert schedule.scale(3, 100) == 1.0
    assert schedule.scale(15, 100) == pytest.approx(0.5)
    assert schedule.scale(63, 100) == pytest.approx(0.25)


@pytest.mark.parametrize("decay", ["linear", "cosine", "inverse_sqrt"])
def test_after_the_warm_up_a_decay_never_rises(decay):
    scales = course(Schedule(warmup_steps=3, decay=decay), 40)[2:]
    assert scales == sorted(scales, reverse=True)
    assert min(scales) >= 0


def test_a_warm_up_longer_than_the_run_is_cut_off():
    assert course(Schedule(warmup_steps=10, decay="linear"), 3) == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr": 0.0}, "lr must be positive, got 0.0"),
        ({"lr": float("nan")}, "lr must be positive, got nan"),
        ({"weight_decay": -1.0}, "weight_decay must not be negative, got -1.0"),
        ({"clip_norm": -1.0}, "clip_norm must not be negative, got -1.0"),
        ({"eps": -1e-8}, "eps must not be negative, got -1e-08"),
        ({"betas": (0.9, 1.0)}, r"betas must be in \[0, 1\), got \(0.9, 1.0\)"),
    ],
)
def test_an_optimiser_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Optim(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decay": "cosin"}, "decay must be one of .*'cosine'.*, got 'cosin'"),
        ({"warmup_steps": -1}, "warmup_steps must not be negative, got -1"),
        ({"plateau_patience": -1}, "plateau_patience must not be negative, got -1"),
        ({"plateau_factor": 0.0}, r"plateau_factor must be in \(0, 1\], got 0.0"),
        ({"plateau_factor": 2.0}, r"plateau_factor must be in \(0, 1\], got 2.0"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**settings)


def build(parameters, **settings):
    return build_optimizer(Optim(**settings), parameters, torch.device("cpu"))


def test_settings_reach_torch():
    optimizer = build(
        nn.Linear(2, 2).parameters(), lr=0.1, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.2
    )
    assert isinstance(optimizer, torch.optim.AdamW)
    group = optimizer.param_groups[0]
    found = {name: group[name] for name in ("lr", "betas", "eps", "weight_decay")}
    assert found == {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.2}


def test_without_weight_decay_it_is_adam():
    torch.manual_seed(1)
    ours, theirs = nn.Linear(3, 2), nn.Linear(3, 2)
    theirs.load_state_dict(ours.state_dict())
    optimizers = build(ours.parameters(), lr=0.01), torch.optim.Adam(theirs.parameters(), lr=0.01)
    inputs = torch.randn(5, 3)
    for _ in range(10):
        for model, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            model(inputs).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=1e-6, atol=1e-7)


def test_frozen_parameters_are_left_out():
    layer = nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    (group,) = build(layer.parameters()).param_groups
    assert [id(parameter) for parameter in group["params"]] == [id(layer.weight)]


def test_the_rate_is_set_in_every_group():
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.SGD([{"params": [layer.weight]}, {"params": [layer.bias]}], lr=1.0)
    set_learning_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]


def test_a_rate_that_is_a_tensor_is_set_in_place():
    """A recorded step reads the tensor it was recorded with."""
    rate = torch.tensor(1.0)
    optimizer = torch.optim.AdamW(nn.Linear(2, 2).parameters(), lr=rate, capturable=False)
    set_learning_rate(optimizer, 0.25)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25


def test_decay_can_spare_all_but_matrices():
    layer = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    optim = Optim(lr=0.1, weight_decay=0.5, decayed="matrices")
    optimizer = build_optimizer(optim, layer.parameters(), torch.device("cpu"))
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.5, 0.0]
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 3]
    before = [parameter.detach().clone() for parameter in layer.parameters()]
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    changed = [not torch.equal(a, b) for a, b in zip(before, layer.parameters(), strict=True)]
    assert changed == [True, False, False, False]
    plain = build_optimizer(Optim(decayed="matrices"), layer.parameters(), torch.device("cpu"))
    assert len(plain.param_groups) == 1


def test_rates_decay_by_layer():
    layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    optim = Optim(lr=1.0, layer_decay=0.5, weight_decay=0.1, decayed="matrices")
    optimizer = build_optimizer(optim, layers.parameters(), torch.device("cpu"), above=[3, 3, 0, 0])
    set_learning_rate(optimizer, 0.8)
    found = [(group["lr"], group["weight_decay"], len(group["params"]))
             for group in optimizer.param_groups]  # fmt: skip
    assert found == [(0.8, 0.1, 1), (0.8, 0.0, 1), (0.1, 0.1, 1), (0.1, 0.0, 1)]


def test_rates_by_layer_need_a_model_that_knows_its_layers():
    assert layers_above(Optim(), nn.Linear(2, 2)) is None
    with pytest.raises(ConfigError, match="layer_decay is for a BERT or a tuned biLM inside"):
        layers_above(Optim(layer_decay=0.9), nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"layer_decay must be in \(0, 1\], got 0.0"):
        Optim(layer_decay=0.0)


def esim_on_a_bilm(tuning):
    bilm = ElmoCase(softmax={"kind": "none"}).build()
    spelt = torch.zeros(9, 9, dtype=torch.int16)
    settings = ElmoSettings(tuning=tuning, size=3)
    embedder = settings.embedder(bilm, spelt, word_size=2, ends="added")
    return Esim(EsimConfig(vocab_size=9, embedding_size=2, hidden_size=3), embedder)


def test_the_layers_of_a_bilm_lie_below_those_of_its_task():
    with pytest.raises(ConfigError, match="a tuned biLM inside"):
        layers_above(Optim(layer_decay=0.5), esim_on_a_bilm("frozen"))
    model = esim_on_a_bilm("tuned")
    names = [name for name, _ in model.named_parameters()]
    above = dict(zip(names, layers_above(Optim(layer_decay=0.5), model), strict=True))
    assert above["embedder.bilm.reader.bias"] == 3
    assert above["embedder.bilm.forwards.layers.1.bias"] == 1
    assert {above[name] for name in names if not name.startswith("embedder.bilm.")} == {0}


def test_a_share_of_all_steps_can_warm_up():
    schedule = Schedule(warmup_share=0.5, decay="linear")
    assert [schedule.scale(step, 4) for step in range(5)] == [0.5, 1.0, 1.0, 0.5, 0.0]
    with pytest.raises(ValueError, match=r"warmup_share must be in \[0, 1\), got 1.0"):
        Schedule(warmup_share=1.0)


def test_what_decays_is_one_of_two():
    with pytest.raises(ValueError, match="decayed must be all or matrices, got 'biases'"):
        Optim(decayed="biases")
