"""Models that write: a recorded step must train as an eager one does. Needs a GPU."""

import copy

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("CUDA graphs need a GPU", allow_module_level=True)

from softquery.data import Sentences, Translations, budgeted
from softquery.decoding import Beam, Rules
from softquery.models import (
    AskingConfig,
    Seq2Seq,
    Seq2SeqConfig,
    Transformer,
    TransformerConfig,
    generate,
)
from softquery.tasks import Generation
from softquery.training.loop import launch
from softquery.training.optim import Optim, build_optimizer
from softquery.training.steps import EagerStep, GraphedStep

WORDS = {"source_vocab_size": 50, "target_vocab_size": 50, "dropout": 0.0}
SMALL = {**WORDS, "embedding_size": 16, "hidden_size": 16}


def some_translations(count=96):
    generator = torch.Generator().manual_seed(0)
    sides = [
        [
            [2, *torch.randint(4, 50, (int(length),), generator=generator).tolist(), 3]
            for length in torch.randint(1, 20, (count,), generator=generator)
        ]
        for _ in range(2)
    ]
    return Translations(Sentences.pack(sides[0]), Sentences.pack(sides[1]))


MODELS = {
    "first_state": Seq2SeqConfig(**SMALL, cell="lstm", context="first_state", num_layers=2),
    "every_step": Seq2SeqConfig(**SMALL, context="every_step"),
    "bahdanau": Seq2SeqConfig(**SMALL),
    "luong": Seq2SeqConfig(
        **SMALL, cell="lstm", attention=AskingConfig(asker="current", score="general")
    ),
    "own_words": Seq2SeqConfig(**SMALL, own_words=1e-9),
    "post": TransformerConfig(**WORDS, hidden_size=16, num_heads=2, inner_size=32),
    "pre": TransformerConfig(
        **WORDS, hidden_size=16, num_heads=2, inner_size=32, norm="pre", positions="learned"
    ),
}


def train(kind, model, rows):
    fabric = launch(devices=1, precision="32-true", seed=1)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    bare = copy.deepcopy(model).to(fabric.device)
    wrapped, optimizer = fabric.setup(
        bare, build_optimizer(Optim(lr=1e-3), bare.parameters(), fabric.device)
    )
    step = kind(
        fabric,
        wrapped,
        optimizer,
        make_batch=rows.to(fabric.device).batch,
        loss=Generation().loss,
        clip_norm=1.0,
    )
    for epoch in range(5):
        for slot in budgeted(rows.lengths(), num_tokens=256, seed=1, epoch=epoch):
            step(slot)
    if kind is GraphedStep:
        assert step._graphs, "nothing was recorded"
    return bare, float(step.loss_sum)


@pytest.mark.parametrize("name", MODELS)
def test_recorded_steps_equal_eager_ones(name):
    torch.manual_seed(0)
    config = MODELS[name]
    model = Seq2Seq(config) if isinstance(config, Seq2SeqConfig) else Transformer(config)
    rows = some_translations()
    eager, eager_loss = train(EagerStep, model, rows)
    graphed, graphed_loss = train(GraphedStep, model, rows)
    assert graphed_loss == pytest.approx(eager_loss, rel=1e-3)
    for key, value in eager.state_dict().items():
        torch.testing.assert_close(graphed.state_dict()[key], value, rtol=1e-2, atol=1e-3, msg=key)


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_those_of_the_cpu(name):
    torch.manual_seed(0)
    config = MODELS[name]
    model = (Seq2Seq(config) if isinstance(config, Seq2SeqConfig) else Transformer(config)).eval()
    source = some_translations().source.pad(torch.arange(8), 21)
    strategy, rules = Beam(size=3, num_best=3), Rules(max_length=12)
    wanted = generate(model, source, strategy=strategy, rules=rules)
    torch.set_float32_matmul_precision("highest")
    moved = type(source)(*(part.cuda() for part in source))
    found = generate(model.cuda(), moved, strategy=strategy, rules=rules)
    for ours, theirs in zip(found, wanted, strict=True):
        assert [each.score for each in ours] == pytest.approx(
            [each.score for each in theirs], rel=1e-3
        )
