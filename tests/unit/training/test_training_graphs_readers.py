"""A reader's recorded step must train as an eager one does. Needs a GPU."""

import copy

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("CUDA graphs need a GPU", allow_module_level=True)

from softquery.answers import ContextWindow, ReadingRules
from softquery.data import Questions, bucketed, encode_windows
from softquery.models import BiDaf, BiDafConfig, SpellingConfig
from softquery.tasks import SpanReading
from softquery.text import TextConfig, pipeline_from_words
from softquery.training.loop import launch
from softquery.training.optim import Optim, build_optimizer
from softquery.training.steps import EagerStep, GraphedStep

WORDS = [f"w{number}" for number in range(40)]
PIPELINE = pipeline_from_words(WORDS[:30], TextConfig())


def some_questions(count: int = 96) -> Questions:
    draw = torch.Generator().manual_seed(0)

    def words(longest: int) -> list[str]:
        length = int(torch.randint(1, longest, (), generator=draw))
        return [WORDS[place] for place in torch.randint(0, 40, (length,), generator=draw).tolist()]

    windows = [ContextWindow(words(6), words(30)) for _ in range(count)]
    labels = [(len(window.words) // 2, len(window.words) - 1) for window in windows]
    labels[::5] = [(-1, -1)] * len(labels[::5])
    return encode_windows(windows, PIPELINE, max_characters=6, labels=labels)


def train(
    kind: type[EagerStep], model: BiDaf, questions: Questions
) -> tuple[dict[str, torch.Tensor], float]:
    fabric = launch(devices=1, precision="32-true", seed=1)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    bare = copy.deepcopy(model).to(fabric.device)
    wrapped, optimizer = fabric.setup(
        bare, build_optimizer(Optim(lr=1e-3), bare.parameters(), fabric.device)
    )
    task = SpanReading(rules=ReadingRules(no_answer="learnt"))
    resident = questions.to(fabric.device)
    step = kind(
        fabric,
        wrapped,
        optimizer,
        make_batch=lambda rows, length: resident.batch(rows, length, question_length=8),
        loss=task.loss,
        clip_norm=1.0,
    )
    for epoch in range(6):
        for slot in bucketed(questions.lengths(), batch_size=16, seed=1, epoch=epoch):
            step(slot)
    if kind is GraphedStep:
        assert step._graphs, "nothing was recorded"
    return bare.state_dict(), float(step.loss_sum)


def test_recorded_steps_equal_eager_ones() -> None:
    torch.manual_seed(0)
    spelling = SpellingConfig(size=4, output_size=8, width=3, max_characters=6)
    model = BiDaf(
        BiDafConfig(
            vocab_size=PIPELINE.vocab_size, embedding_size=16, hidden_size=16, dropout=0.0,
            spelling=spelling, no_answer="learnt",
        )
    )  # fmt: skip
    questions = some_questions()
    eager, eager_loss = train(EagerStep, model, questions)
    graphed, graphed_loss = train(GraphedStep, model, questions)
    assert graphed_loss == pytest.approx(eager_loss, rel=1e-4)
    for name, value in eager.items():
        torch.testing.assert_close(graphed[name], value, rtol=1e-3, atol=1e-4, msg=name)
