"""The step of `gpu_step.py` for negative sampling as two kernels of Triton, for a GPU.

A program takes one window from its words to the rows that it moves, so that nothing but the tables
and the windows is read, and nothing but the tables is written. Programs run side by side and read
rows that others move at the same time, as the threads of the CPU engine do. In its interpreter
(TRITON_INTERPRET=1) Triton runs the same code on a CPU, one program after the other.
"""

from subprocess import SubprocessError

import torch
import triton
import triton.language as tl

from softquery.training.word2vec.gpu_step import SATURATED, Tables
from softquery.training.word2vec.rounds import Round

LARGEST = 1 << 14
"""Numbers of a window's vectors that fit into the registers of one program."""


def serves(window: int, size: int) -> bool:
    """Whether windows of so many words to each side, of vectors so wide, fit into a program.

    >>> serves(window=5, size=300), serves(window=50, size=300)
    (True, False)
    """
    return _power(2 * window) * _power(size) <= LARGEST


def builds(device: torch.device, *, mixed: bool) -> bool:
    """Whether kernels can be built here, for which Triton needs a C compiler."""
    tables = Tables(torch.zeros(1, 1, device=device), torch.zeros(1, 1, device=device), None)
    nothing = torch.zeros(1, 1, dtype=torch.int64, device=device)
    none = torch.zeros((), dtype=torch.int64, device=device)
    rates = torch.ones(2, device=device)
    empty = Round(nothing, nothing.bool(), nothing[0], nothing, none, none.clone(), rates, rates)
    try:
        FusedStep(tables, batch_size=1, max_pull=1.0, mixed=mixed).take(empty)
    except (RuntimeError, OSError, SubprocessError, triton.TritonError):
        return False
    return True


class FusedStep:
    """Steps over the windows of a round.

    Args:
        tables: Changed in place.
        batch_size: Windows per step.
        max_pull: As for `learn_step`.
        mixed: Whether the mean of the words around asks (CBOW), or each of them.
    """

    def __init__(self, tables: Tables, *, batch_size: int, max_pull: float, mixed: bool) -> None:
        self._tables, self._batch_size = tables, batch_size
        self._max_pull, self._mixed = max_pull, mixed
        device = tables.input.device
        self._input_hits = torch.zeros(len(tables.input), device=device)
        self._output_hits = torch.zeros(len(tables.output), device=device)
        self._loss = torch.zeros(batch_size, dtype=torch.float64, device=device)
        self._asked = torch.zeros_like(self._loss)

    def take(self, current: Round) -> None:
        """Learn from the next windows; where they are and how fast is read on the device."""
        self._input_hits.zero_()
        self._output_hits.zero_()
        num_around, num_noise = current.context.shape[1], current.noise.shape[1]
        windows = (
            current.context, current.context_mask, current.centre, current.noise, current.number,
            current.place,
        )  # fmt: skip
        sizes = {
            "num_around": num_around,
            "num_noise": num_noise,
            "mixed": self._mixed,
            "block_around": _power(num_around),
        }
        grid = (self._batch_size,)
        _count_hits[grid](*windows, self._input_hits, self._output_hits, **sizes)
        size = self._tables.input.shape[1]
        _learn[grid](
            *windows,
            current.rates,
            self._tables.input,
            self._tables.output,
            self._input_hits,
            self._output_hits,
            self._loss,
            self._asked,
            self._max_pull,
            SATURATED,
            size,
            **sizes,
            block_size=_power(size),
        )
        current.place.add_(self._batch_size)

    def totals(self) -> tuple[float, float]:
        """The loss summed over the vectors that asked and how many these were, since last time."""
        found = torch.stack([self._loss.sum(), self._asked.sum()])
        self._loss.zero_()
        self._asked.zero_()
        loss, asked = found.tolist()
        return loss, asked


def _power(number: int) -> int:
    """The next power of 2, which a block must have."""
    return 1 << max(0, number - 1).bit_length()


@triton.jit
def _count_hits(
    context, there, centre, noise, number, place,
    input_hits, output_hits,
    num_around: tl.constexpr, num_noise: tl.constexpr, mixed: tl.constexpr,
    block_around: tl.constexpr,
):  # fmt: skip
    """How often a step touches each row: a row that is touched too often moves less."""
    row = tl.load(place) + tl.program_id(0)
    if row < tl.load(number):
        around = tl.arange(0, block_around)
        inside = around < num_around
        present = tl.load(there + row * num_around + around, mask=inside, other=0) != 0
        words = tl.load(context + row * num_around + around, mask=inside, other=0)
        tl.atomic_add(input_hits + words, 1.0, mask=present)
        askers = tl.sum(present.to(tl.float32), axis=0)
        if mixed:
            askers = tl.minimum(askers, 1.0)
        middle = tl.load(centre + row)
        tl.atomic_add(output_hits + middle, askers)
        for turn in tl.static_range(num_noise):
            drawn = tl.load(noise + row * num_noise + turn)
            tl.atomic_add(output_hits + drawn, askers, mask=drawn != middle)


@triton.jit
def _learn(
    context, there, centre, noise, number, place,
    rates, inputs, outputs, input_hits, output_hits, losses, asked,
    max_pull, saturated, size,
    num_around: tl.constexpr, num_noise: tl.constexpr, mixed: tl.constexpr,
    block_around: tl.constexpr, block_size: tl.constexpr,
):  # fmt: skip
    """Move the rows of one window against their gradient."""
    program = tl.program_id(0)
    first, total = tl.load(place), tl.load(number)
    row = first + program
    if row < total:
        begin, end = tl.load(rates), tl.load(rates + 1)
        rate = begin + (end - begin) * (first.to(tl.float32) / total.to(tl.float32))
        most = max_pull / tl.maximum(rate, 1e-12)
        around, columns = tl.arange(0, block_around), tl.arange(0, block_size)
        inside, within = around < num_around, columns < size
        present = tl.load(there + row * num_around + around, mask=inside, other=0) != 0
        words = tl.load(context + row * num_around + around, mask=inside, other=0)
        cells = present[:, None] & within[None, :]
        places = inputs + words[:, None] * size + columns[None, :]
        vectors = tl.load(places, mask=cells, other=0.0)
        askers = tl.sum(present.to(tl.float32), axis=0)
        mean = tl.sum(vectors, axis=0) / tl.maximum(askers, 1.0)
        moved = tl.zeros_like(vectors)
        loss = 0.0
        middle = tl.load(centre + row)
        for turn in tl.static_range(num_noise + 1):
            if turn == 0:
                target, label, weight = middle, 1.0, 1.0
            else:  # noise that is the word itself does not count
                target, label = tl.load(noise + row * num_noise + turn - 1), 0.0
                weight = tl.where(target == middle, 0.0, 1.0)
            answer = tl.load(outputs + target * size + columns, mask=within, other=0.0)
            pull = most / tl.maximum(tl.load(output_hits + target), most)
            if mixed:
                weight *= tl.minimum(askers, 1.0)
                score = tl.sum(mean * answer, axis=0)
                step = weight * rate * (label - _sigmoid(score, saturated))
                moved += step * answer[None, :]
                turned = step * mean
                loss += weight * (_softplus(score) - label * score)
            else:
                scores = tl.sum(vectors * answer[None, :], axis=1)
                steps = rate * (label - _sigmoid(scores, saturated))
                steps = weight * tl.where(present, steps, 0.0)
                moved += steps[:, None] * answer[None, :]
                turned = tl.sum(steps[:, None] * vectors, axis=0)
                asked_loss = tl.where(present, _softplus(scores) - label * scores, 0.0)
                loss += weight * tl.sum(asked_loss, axis=0)
            answers = outputs + target * size + columns
            tl.atomic_add(answers, pull * turned, mask=within, sem="relaxed")
        hits = tl.load(input_hits + words, mask=present, other=1.0)
        pulls = most / tl.maximum(hits, most)
        tl.atomic_add(places, pulls[:, None] * moved, mask=cells, sem="relaxed")
        asking = askers
        if mixed:
            asking = tl.minimum(askers, 1.0)
        # A place of its own for each program of a step: nothing has to be summed meanwhile.
        tl.store(losses + program, tl.load(losses + program) + loss)
        tl.store(asked + program, tl.load(asked + program) + asking)


@triton.jit
def _sigmoid(scores, saturated):
    """The sigmoid, and far from 0 exactly 0 or 1."""
    found = 1.0 / (1.0 + tl.exp(-scores))
    found = tl.where(scores >= saturated, 1.0, found)
    return tl.where(scores <= -saturated, 0.0, found)


@triton.jit
def _softplus(scores):
    """log(1 + eˣ), without overflow."""
    return tl.maximum(scores, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(scores)))
