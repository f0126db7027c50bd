"""The running average of the weights."""

import pytest
import torch
from torch import nn

from softquery.training.average import WeightAverage


def layer(value):
    made = nn.Linear(2, 1)
    for parameter in made.parameters():
        nn.init.constant_(parameter, value)
    return made


def set_to(model, value):
    for parameter in model.parameters():
        parameter.data.fill_(value)


def test_the_average_by_hand():
    model = layer(1.0)
    average = WeightAverage(model, 0.75)
    for value in (3.0, 5.0):
        set_to(model, value)
        average.update()
    wanted = 0.75 * (0.75 * 1.0 + 0.25 * 3.0) + 0.25 * 5.0
    assert average.state()["weight"].tolist() == [[pytest.approx(wanted)] * 2]
    assert average.state()["bias"].tolist() == [pytest.approx(wanted)]
    assert model.weight.tolist() == [[5.0, 5.0]]


def test_the_first_steps_weigh_more():
    model = layer(0.0)
    average = WeightAverage(model, 0.999)
    average.prepare(0)
    set_to(model, 1.0)
    average.update()
    assert average.state()["bias"].item() == pytest.approx(0.9)  # keeps 1 / 10 of the random start


@pytest.mark.parametrize(
    ("step", "keep"), [(0, 0.1), (8, 0.5), (80, 0.9), (890, 0.99), (10**6, 0.99)]
)
def test_what_is_kept_grows_to_the_decay(step, keep):
    model = layer(1.0)
    average = WeightAverage(model, 0.99)
    set_to(model, 0.0)
    average.prepare(step)
    average.update()
    assert average.state()["bias"].item() == pytest.approx(keep, rel=1e-5)


def test_swapping_twice_changes_nothing():
    model = layer(1.0)
    average = WeightAverage(model, 0.5)
    set_to(model, 3.0)
    average.update()
    average.swap()
    assert (model.bias.item(), average.state()["bias"].item()) == (2.0, 3.0)
    average.swap()
    assert (model.bias.item(), average.state()["bias"].item()) == (3.0, 2.0)


def test_the_models_own_tensors_stay():
    """An optimiser holds them; a swap must not put others in their place."""
    model = layer(1.0)
    before = [parameter.data_ptr() for parameter in model.parameters()]
    average = WeightAverage(model, 0.5)
    average.update()
    average.swap()
    assert [parameter.data_ptr() for parameter in model.parameters()] == before


def test_no_gradient_flows():
    model = layer(1.0)
    average = WeightAverage(model, 0.5)
    average.update()
    average.swap()
    assert all(not value.requires_grad for value in average.state().values())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_an_average_is_taken_up_again():
    torch.manual_seed(1)
    first, second = WeightAverage(nn.Linear(3, 2), 0.5), WeightAverage(nn.Linear(3, 2), 0.5)
    second.restore({name: value.clone() for name, value in first.state().items()})
    for name, value in first.state().items():
        assert torch.equal(second.state()[name], value)


@pytest.mark.parametrize("decay", [0.0, 1.0, -0.5, 2.0])
def test_a_decay_outside_the_range_is_quoted(decay):
    with pytest.raises(ValueError, match=f"average_decay must be between 0 and 1, got {decay}"):
        WeightAverage(layer(1.0), decay)


def test_what_is_frozen_stays_bit_by_bit():
    model = torch.nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    before = model.bias.clone()
    average = WeightAverage(model, 0.9)
    assert average.names == ["weight"]
    for step in range(20):
        average.prepare(step)
        average.update()
    average.swap()
    assert torch.equal(model.bias, before)
