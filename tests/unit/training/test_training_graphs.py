"""A recorded step must train as an eager one does. Needs a GPU."""

import copy

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("CUDA graphs need a GPU", allow_module_level=True)

from softquery.data import Pairs, Sentences, Slot, bucketed
from softquery.models import Esim, EsimConfig
from softquery.tasks import PairClassification
from softquery.training.average import WeightAverage
from softquery.training.loop import launch
from softquery.training.optim import Optim, build_optimizer
from softquery.training.steps import EagerStep, GraphedStep


def some_pairs(count: int = 96) -> Pairs:
    generator = torch.Generator().manual_seed(0)
    sides = [
        [
            torch.randint(1, 50, (int(length),), generator=generator).tolist()
            for length in torch.randint(1, 20, (count,), generator=generator)
        ]
        for _ in range(2)
    ]
    label = torch.randint(0, 3, (count,), generator=generator)
    return Pairs(Sentences.pack(sides[0]), Sentences.pack(sides[1]), label)


def train(
    kind: type[EagerStep], model: Esim, pairs: Pairs
) -> tuple[dict[str, torch.Tensor], float]:
    fabric = launch(devices=1, precision="32-true", seed=1)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    bare = copy.deepcopy(model).to(fabric.device)
    average = WeightAverage(bare, 0.9)
    wrapped, optimizer = fabric.setup(
        bare, build_optimizer(Optim(lr=1e-3), bare.parameters(), fabric.device)
    )
    task = PairClassification(labels=("a", "b", "c"))
    resident = pairs.to(fabric.device)
    step = kind(
        fabric,
        wrapped,
        optimizer,
        make_batch=resident.batch,
        loss=task.loss,
        clip_norm=1.0,
        average=average,
    )
    for epoch in range(6):
        slots: list[Slot] = bucketed(pairs.lengths(), batch_size=16, seed=1, epoch=epoch)
        for slot in slots:
            step(slot)
    if kind is GraphedStep:
        assert step._graphs, "nothing was recorded"
    return bare.state_dict(), float(step.loss_sum)


def test_recorded_steps_equal_eager_ones() -> None:
    torch.manual_seed(0)
    model = Esim(EsimConfig(vocab_size=50, embedding_size=16, hidden_size=16, dropout=0.0))
    pairs = some_pairs()
    eager, eager_loss = train(EagerStep, model, pairs)
    graphed, graphed_loss = train(GraphedStep, model, pairs)
    assert graphed_loss == pytest.approx(eager_loss, rel=1e-4)
    for name, value in eager.items():
        torch.testing.assert_close(graphed[name], value, rtol=1e-3, atol=1e-4, msg=name)
