"""The kernels of the GPU step, run by Triton's interpreter, beside the step of plain torch."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="it comes with torch for a GPU")

PROGRAM = """
import torch
from softquery.training.word2vec.fused_step import FusedStep
from softquery.training.word2vec.rounds import Round
from softquery.training.word2vec.gpu_step import Batch, Tables, learn_step

WINDOWS, AROUND, NOISE, SIZE, BATCH = 6, 3, 2, 5, 4


def made(words, share):
    torch.manual_seed(1)
    tables = Tables(torch.randn(words, SIZE), torch.randn(words, SIZE), None)
    order = torch.randperm(words)  # no word twice, unless `share` says so
    context = order[: WINDOWS * AROUND].view(WINDOWS, AROUND)
    centre = order[:WINDOWS]
    noise = order[WINDOWS : WINDOWS * (1 + NOISE)].view(WINDOWS, NOISE).clone()
    noise[2, 0] = centre[2]  # noise that is the word itself does not count
    if share:
        context[1, 1], noise[1, 1] = context[0, 0], noise[0, 0]
    there = torch.ones(WINDOWS, AROUND, dtype=torch.bool)
    there[0, 2] = False
    there[3] = False  # a window without words around
    rates = torch.tensor([0.5, 0.1]) / (20 if share else 1)
    scalars = torch.tensor(WINDOWS), torch.tensor(0), rates, torch.zeros(2)
    return tables, Round(context, there, centre, noise, *scalars)


def by_torch(tables, current, mixed):
    loss = asked = 0.0
    for first in range(0, WINDOWS, BATCH):
        rows = slice(first, min(first + BATCH, WINDOWS))
        centre, noise = current.centre[rows], current.noise[rows]
        targets = torch.cat([centre[:, None], noise], dim=1)
        mask = torch.cat([torch.ones(len(centre), 1, dtype=torch.bool),
                          noise != centre[:, None]], dim=1)
        label = torch.zeros_like(targets, dtype=torch.float32)
        label[:, 0] = 1
        rate = current.rates[0] + (current.rates[1] - current.rates[0]) * (first / WINDOWS)
        batch = Batch(current.context[rows], current.context_mask[rows], targets, mask, label, None)
        found = learn_step(tables, batch, rate, mixed=mixed, max_pull=0.5, bags=None)
        loss, asked = loss + float(found[0]), asked + float(found[1])
    return loss, asked


for mixed in (True, False):
    for share in (False, True):
        ours, current = made(40, share)
        theirs, _ = made(40, share)
        step = FusedStep(ours, batch_size=BATCH, max_pull=0.5, mixed=mixed)
        step.take(current)
        step.take(current)
        assert int(current.place) == 2 * BATCH
        wanted, found = by_torch(theirs, current, mixed), step.totals()
        assert step.totals() == (0, 0)
        # Programs that share a row see what the ones before them made of it: near, not equal.
        near = 0.02 if share else 1e-5
        torch.testing.assert_close(torch.tensor(found), torch.tensor(wanted), rtol=near, atol=near)
        for mine, other in ((ours.input, theirs.input), (ours.output, theirs.output)):
            torch.testing.assert_close(mine, other, rtol=near, atol=near)
        assert not torch.equal(theirs.input, made(40, share)[0].input)
print("equal")
"""


def test_the_kernels_learn_what_plain_torch_learns():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert ran.stdout == "equal\n", ran.stderr


def test_windows_that_do_not_fit_are_left_to_plain_torch():
    from softquery.training.word2vec.fused_step import serves

    assert serves(window=5, size=100)
    assert not serves(window=1000, size=100)


def test_whether_kernels_can_be_built_is_found_out():
    program = (
        "import torch; from softquery.training.word2vec.fused_step import builds; "
        "print([builds(torch.device('cpu'), mixed=mixed) for mixed in (True, False)])"
    )
    answers = {}
    for interpreted in ("0", "1"):
        environment = {**os.environ, "TRITON_INTERPRET": interpreted}
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        answers[interpreted] = ran.stdout.strip() or ran.stderr
    assert answers == {"0": "[False, False]", "1": "[True, True]"}
