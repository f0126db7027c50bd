"""A recorded step must train as an eager one does. Needs a GPU."""

import copy
from dataclasses import replace

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("CUDA graphs need a GPU", allow_module_level=True)

from softquery.data import Pairs, Sentences, Slot, Streams, bucketed
from softquery.models import CharacterConfig, Elmo, ElmoConfig, Esim, EsimConfig, SoftmaxConfig
from softquery.nn import ElmoSettings, Lexicon
from softquery.running.pretrain_elmo import StreamBatches, StreamMemory
from softquery.tasks import LanguageModel, PairClassification
from softquery.text import spell_vocabulary
from softquery.training.average import WeightAverage
from softquery.training.loop import launch
from softquery.training.optim import Optim, build_optimizer
from softquery.training.plan import remembering
from softquery.training.steps import BatchGraphedStep, EagerStep, GraphedStep


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


def test_steps_with_a_bilm_and_its_lexicon_are_recorded_too() -> None:
    torch.manual_seed(0)
    words = ["<pad>", "<unk>", "<bos>", "<eos>", *(f"w{number}" for number in range(46))]
    bilm = Elmo(
        ElmoConfig(
            hidden_size=16, projection_size=8, way="fast", dropout=0.0,
            characters=CharacterConfig(size=4, max_characters=9, widths=(1, 3), filters=(4, 8)),
            softmax=SoftmaxConfig(kind="none"),
        )
    )  # fmt: skip
    characters = torch.from_numpy(spell_vocabulary(words, 9))
    embedder = ElmoSettings(dropout=0.0).embedder(
        bilm, characters[:0], word_size=16, ends="added", num_words=20
    )
    sizes = {"vocab_size": 20, "embedding_size": 16, "hidden_size": 16}
    model = Esim(EsimConfig(**sizes, dropout=0.0), embedder)
    rows = torch.arange(50)
    lexicon = embedder.read(Lexicon(characters, torch.where(rows < 20, rows, 1)))
    pairs = replace(some_pairs(), lexicon=lexicon)
    eager, eager_loss = train(EagerStep, model, pairs)
    graphed, graphed_loss = train(GraphedStep, model, pairs)
    assert graphed_loss == pytest.approx(eager_loss, rel=1e-4)
    for name, value in eager.items():
        torch.testing.assert_close(graphed[name], value, rtol=1e-3, atol=1e-4, msg=name)


def pretrained(kind: type[EagerStep], steps: int = 12) -> tuple[dict[str, torch.Tensor], float]:
    """A biLM that reads streams whose batches differ in their number of distinct words."""
    fabric = launch(devices=1, precision="32-true", seed=1)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(4, 60, (4 * 400,), generator=draw).int().to(fabric.device)
    words = ["<pad>", "<unk>", "<bos>", "<eos>", *(f"w{'o' * (n % 20)}{n}" for n in range(56))]
    characters = torch.from_numpy(spell_vocabulary(words)).to(fabric.device)
    text = Streams(ids, ids.flip(0), characters, 60, 4).cropped(widest=3, multiple=8)
    model = Elmo(
        ElmoConfig(
            vocab_size=60, hidden_size=16, projection_size=8, way="fast", dropout=0.0,
            characters=CharacterConfig(size=4, widths=(1, 3), filters=(4, 8)),
            softmax=SoftmaxConfig(kind="full"),
        )
    ).to(fabric.device)  # fmt: skip
    memory = StreamMemory(model.initial_state(4), rounds=1)
    plan = StreamBatches(
        train=text, tune=text, memory=memory, unroll=5, rounds=1, fresh_share=0.1
    )  # fmt: skip
    wrapped, optimizer = fabric.setup(
        model, build_optimizer(Optim(lr=1e-3), model.parameters(), fabric.device)
    )
    step = kind(
        fabric, wrapped, optimizer, make_batch=plan.make_batch, clip_norm=1.0,
        loss=remembering(LanguageModel().loss, memory),
    )  # fmt: skip
    for slot in plan.slots(0)[:steps] * 4:
        step(slot)
    if kind is BatchGraphedStep:
        assert step._graphs, "nothing was recorded"
    return model.state_dict(), float(step.loss_sum)


def test_steps_recorded_after_the_batch_equal_eager_ones() -> None:
    eager, eager_loss = pretrained(EagerStep)
    graphed, graphed_loss = pretrained(BatchGraphedStep)
    assert graphed_loss == pytest.approx(eager_loss, rel=1e-4)
    for name, value in eager.items():
        torch.testing.assert_close(graphed[name], value, rtol=1e-3, atol=1e-4, msg=name)
