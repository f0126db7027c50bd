"""The recorded step of a BERT with a head must train as an eager one does. Needs a GPU."""

import copy

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("CUDA graphs need a GPU", allow_module_level=True)

from bert_head_cases import CASES
from softquery.data import bucketed
from softquery.training.loop import launch
from softquery.training.optim import Optim, build_optimizer, layers_above
from softquery.training.steps import EagerStep, GraphedStep

OPTIM = Optim(lr=1e-3, weight_decay=0.01, decayed="matrices", layer_decay=0.8)


def train(kind, case, model):
    fabric = launch(devices=1, precision="32-true", seed=1)
    torch.set_float32_matmul_precision("highest")
    bare = copy.deepcopy(model).to(fabric.device)
    above = layers_above(OPTIM, bare)
    optimizer = build_optimizer(OPTIM, bare.parameters(), fabric.device, above=above)
    wrapped, optimizer = fabric.setup(bare, optimizer)
    resident = case.data().to(fabric.device)
    step = kind(
        fabric, wrapped, optimizer, make_batch=resident.batch, loss=case.task.loss, clip_norm=1.0
    )
    for epoch in range(12):
        for slot in bucketed(case.data().lengths(), batch_size=5, seed=1, epoch=epoch):
            step(slot)
    if kind is GraphedStep:
        assert step._graphs, "nothing was recorded"
    return bare.state_dict(), float(step.loss_sum)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_recorded_steps_equal_eager_ones(case) -> None:
    model = case.build(std=0.1)
    eager, eager_loss = train(EagerStep, case, model)
    graphed, graphed_loss = train(GraphedStep, case, model)
    assert graphed_loss == pytest.approx(eager_loss, rel=1e-4)
    for name, value in eager.items():
        torch.testing.assert_close(graphed[name], value, rtol=1e-3, atol=1e-4, msg=name)
