"""One step: accumulation, weighting between processes, clipping, averaging, precision."""

from dataclasses import dataclass

import pytest
import torch
from fitting import TASK, assert_same, cpu, make_model, make_pairs, weights

from softquery.data import Slot
from softquery.training.average import WeightAverage
from softquery.training.steps import EagerStep, GraphedStep, seed_share


def make_step(*, fabric=None, average_decay=0.0, dropout=0.0, lr=0.01, **settings):
    fabric, pairs, model = fabric or cpu(), make_pairs(), make_model(dropout=dropout)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    average = WeightAverage(model, average_decay) if average_decay else None
    step = EagerStep(
        fabric,
        *fabric.setup(model, optimizer),
        make_batch=pairs.batch,
        loss=TASK.loss,
        average=average,
        **settings,
    )
    return step, model, pairs


def slot(*rows, length=6):
    return Slot(torch.tensor(rows), length)


@pytest.mark.parametrize("accumulate", [2, 3, 7, 50])
@pytest.mark.parametrize("clip_norm", [0.0, 0.05])
def test_parts_of_a_batch_add_up_to_the_whole(accumulate, clip_norm):
    """Seven rows do not divide evenly: parts must weigh by their rows."""
    whole, parts = (
        make_step(accumulate=count, clip_norm=clip_norm, lr=1.0) for count in (1, accumulate)
    )
    for step, _, _ in (whole, parts):
        step(slot(0, 1, 2, 3, 4, 5, 6))
        step(slot(7, 8, 9, 10, 11))
    for name, value in whole[1].state_dict().items():
        torch.testing.assert_close(parts[1].state_dict()[name], value, rtol=0, atol=1e-6)
    assert float(parts[0].loss_sum) == pytest.approx(float(whole[0].loss_sum), abs=1e-5)


def test_the_loss_is_summed_over_steps():
    step, model, pairs = make_step(lr=1e-9)
    step(slot(0, 1, 2))
    step(slot(3, 4))
    first, second = pairs.batch(torch.arange(3), 6), pairs.batch(torch.tensor([3, 4]), 6)
    wanted = TASK.loss(model(first), first) + TASK.loss(model(second), second)
    assert float(step.loss_sum) == pytest.approx(wanted.item(), abs=1e-5)


def test_a_step_goes_down_the_gradient():
    step, model, pairs = make_step(lr=0.5)
    before, batch = weights(model), pairs.batch(torch.arange(4), 6)
    TASK.loss(model(batch), batch).backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    step(slot(0, 1, 2, 3))
    for name, parameter in model.named_parameters():
        wanted = before[name] - 0.5 * gradients[name]
        torch.testing.assert_close(parameter.detach(), wanted, rtol=1e-5, atol=1e-6)


def test_clipping_limits_the_norm_of_all_gradients_together():
    step, model, _ = make_step(clip_norm=0.01)
    step(slot(0, 1, 2, 3))
    norm = torch.stack([parameter.grad.norm() for parameter in model.parameters()]).norm()
    assert norm.item() == pytest.approx(0.01, rel=1e-3)


def test_the_average_follows_each_step():
    step, model, _ = make_step(average_decay=0.5, lr=1.0)
    before = weights(model)
    step(slot(0, 1, 2, 3))
    for name, value in step.average.state().items():
        wanted = (before[name] + model.state_dict()[name]) / 2
        torch.testing.assert_close(value, wanted, rtol=1e-5, atol=1e-6)


def test_bfloat16_trains_float32_weights():
    torch.manual_seed(1)
    step, model, _ = make_step(fabric=cpu(precision="bf16-mixed"), dropout=0.2, clip_norm=1.0)
    before = weights(model)
    step(slot(0, 1, 2, 3))
    assert torch.isfinite(step.loss_sum)
    for value in model.state_dict().values():
        assert value.dtype == torch.float32
        assert value.isfinite().all()
    assert not torch.equal(model.embedder.table.weight, before["embedder.table.weight"])


def test_equal_steps_are_bitwise_equal():
    results = []
    for _ in range(2):
        step, model, _ = make_step(dropout=0.5)
        torch.manual_seed(3)
        step(slot(0, 1, 2))
        results.append(weights(model))
    assert_same(*results)


@dataclass
class Processes:
    """As much of Fabric as one of several processes asks for before gradients are exchanged."""

    world_size: int
    global_rank: int
    device: torch.device = torch.device("cpu")

    def backward(self, loss):
        loss.backward()


def shares(part, total, world_size):
    """Rows and weight of every process."""
    for rank in range(world_size):
        step = EagerStep(Processes(world_size, rank), None, None, make_batch=None, loss=None)
        yield step._share(part, total)


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize("total", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("accumulate", [1, 2, 3])
def test_the_mean_over_processes_is_the_mean_over_rows(world_size, total, accumulate):
    """Fabric averages gradients over processes, and gradients are linear in the losses."""
    losses = torch.rand(total, dtype=torch.float64, generator=torch.Generator().manual_seed(total))
    mean = 0.0
    for part in torch.arange(total).chunk(accumulate):
        for mine, weight in shares(part, total, world_size):
            assert len(mine) > 0  # even an idle process must take part in the exchange
            mean += float(losses[mine].mean()) * weight / world_size
    assert mean == pytest.approx(float(losses.mean()), rel=1e-12)


def test_the_loss_of_several_processes_has_the_size_of_one():
    """The first process writes the log for all: it must not show its share of the loss alone."""
    pairs, sums = make_pairs(), []
    for rank in range(2):
        model = make_model()
        step = EagerStep(
            Processes(2, rank),
            model,
            torch.optim.SGD(model.parameters(), lr=0.0),
            make_batch=pairs.batch,
            loss=TASK.loss,
        )
        step(slot(0, 1, 2, 3, 4))
        sums.append(float(step.loss_sum))
    batch = pairs.batch(torch.arange(5), 6)
    wanted = TASK.loss(make_model()(batch), batch).item()
    assert sum(sums) / 2 == pytest.approx(wanted, rel=1e-5)


def test_every_row_belongs_to_one_process():
    parts = [mine.tolist() for mine, _ in shares(torch.arange(7), 7, 3)]
    assert parts == [[0, 3, 6], [1, 4], [2, 5]]


def test_an_idle_process_weighs_nothing():
    (first, weight), (second, idle) = shares(torch.tensor([5]), 1, 2)
    assert (first.tolist(), weight) == ([5], 2.0)
    assert (second.tolist(), idle) == ([5], 0.0)


def test_a_recorded_step_serves_one_gpu_without_accumulation():
    assert not GraphedStep.serves(cpu(), 1)
    gpu = torch.device("cuda", 0)
    assert GraphedStep.serves(Processes(1, 0, gpu), 1)
    assert not GraphedStep.serves(Processes(1, 0, gpu), 2)
    assert not GraphedStep.serves(Processes(2, 0, gpu), 1)


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 5, 32])
def test_every_row_is_learnt_from_once_however_many_processes_there_are(world_size, count):
    rows = torch.arange(count)
    learnt = [mine for mine, weight in shares(rows, count, world_size) if weight]
    assert sorted(torch.cat(learnt).tolist()) == rows.tolist()


def test_each_process_draws_its_own_dropout_and_the_same_again():
    def drawn(seed, step, rank):
        seed_share(seed, step, rank)
        return torch.rand(4).tolist()

    places = [(1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
    first = [drawn(*place) for place in places]
    assert len({tuple(each) for each in first}) == len(places)
    assert [drawn(*place) for place in places] == first
