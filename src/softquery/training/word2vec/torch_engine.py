"""The GPU engine: a round of the corpus becomes tensors, and a step takes thousands of windows.

Everything happens on the device: frequent words are thinned out, windows are cut and noise is drawn
for a whole round at a time, then steps of `batch_size` windows follow each other. On a GPU the step
is recorded once and replayed; with negative sampling and Triton, which comes with torch there, it
is two kernels (`fused_step`). Otherwise it is plain torch, which runs on a CPU as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softquery.training.word2vec.gpu_step import Bags, Batch, Tables, learn_step
from softquery.training.word2vec.rounds import Round
from softquery.training.word2vec.tables import (
    alias_table,
    huffman_tree,
    keep_chances,
    noise_chances,
)
from softquery.training.word2vec.word2vec_engine import Floats, Lesson, Stretch, Subject

if TYPE_CHECKING:
    from softquery.training.word2vec.fused_step import FusedStep

WARM_UP = 3
"""Steps before a recording, in which libraries set themselves up."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The way to each word in the tree, padded: nodes, turns, and which of them are there."""

    nodes: Tensor
    turns: Tensor
    mask: Tensor


class TorchEngine:
    """word2vec in large batches.

    Args:
        subject: What is learnt.
        device: Where; a GPU by default, where there is one.
    """

    def __init__(self, subject: Subject, device: torch.device | str | None = None) -> None:
        self.subject = subject
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.name = f"torch, {self.device.type}"
        training = subject.training
        noise = noise_chances(subject.counts, training.noise_power)
        own, other = alias_table(noise)
        self._keep = self._placed(keep_chances(subject.counts, training.subsample))
        self._own, self._other = self._placed(own), self._placed(other.astype(np.int64))
        self._log_rate = self._placed(np.log(training.num_negatives * noise).astype(np.float32))
        reach = range(-training.window, training.window + 1)
        self._offsets = self._placed(np.array([n for n in reach if n], dtype=np.int64))
        self._ways = self._ways_of(subject) if subject.config.objective == "hierarchical" else None
        self._bags = None
        if subject.config.num_buckets:
            rows = subject.rows.rows.astype(np.int64)
            self._bags = Bags(self._placed(subject.rows.starts), self._placed(rows))
        self._tables = self._tables_of(subject.first_state())
        self._fused = self._fused_step()
        self.name += ", fused" if self._fused is not None else ""
        self._round: Round | None = None
        self._graph: torch.cuda.CUDAGraph | None = None

    def learn(self, stretches: Sequence[Stretch]) -> Lesson:
        """Learn from stretches together, in batches of windows drawn from all of them."""
        generator = torch.Generator(self.device).manual_seed(stretches[0].seed % 2**63)
        ids = np.concatenate([stretch.ids for stretch in stretches])
        number = self._fill(self._placed(ids), generator)
        current = self._current()
        ends = (stretches[0].rates[0], stretches[-1].rates[1])
        current.rates.copy_(torch.tensor(ends, dtype=torch.float32))
        current.total.zero_()
        self._take_steps(-(-number // self.subject.training.batch_size))
        loss, asked = current.total.tolist() if self._fused is None else self._fused.totals()
        return Lesson(loss, asked)

    def state(self) -> dict[str, Floats]:
        """Copies of the tables."""
        tables = self._tables
        named = {"input": tables.input, "output": tables.output, "bias": tables.bias}
        return {
            name: table.cpu().numpy().copy() for name, table in named.items() if table is not None
        }

    def restore(self, state: dict[str, Floats]) -> None:
        """Take up tables, in the memory of those that are there."""
        given = self._tables_of(state)
        self._tables.input.copy_(given.input)
        self._tables.output.copy_(given.output)
        if self._tables.bias is not None and given.bias is not None:
            self._tables.bias.copy_(given.bias)

    def _fill(self, ids: Tensor, generator: torch.Generator) -> int:
        """Thin out, cut windows, shuffle them and draw noise; returns how many there are."""
        training, device = self.subject.training, self.device
        sentence = (ids < 0).cumsum(0)
        chance = torch.rand(len(ids), generator=generator, device=device, dtype=torch.float64)
        kept = (ids >= 0) & (chance < self._keep[ids.clamp(min=0).long()])
        words, sentence = ids[kept].long(), sentence[kept]
        number = len(words)
        if self._round is None or number > len(self._round.centre):
            self._round, self._graph = self._new_round(number + number // 4 + 1), None
        reach = torch.randint(1, training.window + 1, (number,), generator=generator, device=device)
        order = torch.randperm(number, generator=generator, device=device)
        near = order[:, None] + self._offsets  # [M, C]
        inside = (near >= 0) & (near < number)
        near = near.clamp(0, max(0, number - 1))
        there = inside & (self._offsets.abs() <= reach[order][:, None])
        there &= sentence[near] == sentence[order][:, None]
        current = self._round
        current.context[:number] = words[near]
        current.context_mask[:number] = there
        current.centre[:number] = words[order]
        self._draw_noise(current.noise[:number], generator)
        current.number.fill_(number)
        current.place.zero_()
        return number

    def _draw_noise(self, noise: Tensor, generator: torch.Generator) -> None:
        """By the alias method, as the CPU engine does."""
        cells = torch.randint(len(self._own), noise.shape, generator=generator, device=self.device)
        chance = torch.rand(
            noise.shape, generator=generator, device=self.device, dtype=torch.float64
        )
        noise.copy_(torch.where(chance < self._own[cells], cells, self._other[cells]))

    def _take_steps(self, number: int) -> None:
        done = 0
        if self.device.type == "cuda" and self._bags is None and number > WARM_UP:
            if self._graph is None:
                done = self._record()
            while done < number and self._graph is not None:
                self._graph.replay()
                done += 1
        for _ in range(done, number):
            self._step()

    def _record(self) -> int:
        """Record a step; returns how many steps were taken on the way."""
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self._step()
        torch.cuda.current_stream(self.device).wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._step()
        return WARM_UP

    @torch.no_grad()
    def _step(self) -> None:
        """Learn from the next windows; where they are and how fast is read on the device."""
        current, training = self._current(), self.subject.training
        if self._fused is not None:
            self._fused.take(current)
            return
        rows = current.place + torch.arange(training.batch_size, device=self.device)
        live = rows < current.number
        rows = rows.clamp(max=len(current.centre) - 1)
        done = current.place / current.number
        rate = current.rates[0] + (current.rates[1] - current.rates[0]) * done
        loss, asked = learn_step(
            self._tables,
            self._batch(rows, live),
            rate,
            mixed=self.subject.config.architecture == "cbow",
            max_pull=training.max_pull,
            bags=self._bags,
        )
        current.total.add_(torch.stack([loss, asked]))
        current.place.add_(training.batch_size)

    def _fused_step(self) -> "FusedStep | None":
        """The step as kernels, where they know what is asked of them."""
        config, training = self.subject.config, self.subject.training
        if config.objective != "negative" or self._bags is not None:
            return None
        if self.device.type != "cuda" or find_spec("triton") is None:
            return None
        from softquery.training.word2vec import fused_step

        if not fused_step.serves(training.window, config.embedding_size):
            return None
        mixed = config.architecture == "cbow"
        if not fused_step.builds(self.device, mixed=mixed):
            return None
        return fused_step.FusedStep(
            self._tables,
            batch_size=training.batch_size,
            max_pull=training.max_pull,
            mixed=mixed,
        )

    def _batch(self, rows: Tensor, live: Tensor) -> Batch:
        current = self._current()
        context, centre = current.context[rows], current.centre[rows]
        context_mask = current.context_mask[rows] & live[:, None]
        if self._ways is not None:
            ways = self._ways
            nodes, turns, mask = ways.nodes[centre], ways.turns[centre], ways.mask[centre]
            return Batch(context, context_mask, nodes, mask, turns, None)
        noise = current.noise[rows]
        targets = torch.cat([centre[:, None], noise], dim=1)
        target_mask = torch.cat([live[:, None], noise != centre[:, None]], dim=1)
        label = torch.zeros_like(targets, dtype=torch.float32)
        label[:, 0] = 1.0
        bias = self._tables.bias
        offset = None if bias is None else bias[targets] - self._log_rate[targets]
        return Batch(context, context_mask, targets, target_mask, label, offset)

    def _current(self) -> Round:
        if self._round is None:
            raise RuntimeError("a round must be filled first")
        return self._round

    def _new_round(self, size: int) -> Round:
        training = self.subject.training
        num_around = 2 * training.window
        return Round(
            context=self._zeros(size, num_around),
            context_mask=self._zeros(size, num_around, dtype=torch.bool),
            centre=self._zeros(size),
            noise=self._zeros(size, training.num_negatives),
            number=self._zeros(),
            place=self._zeros(),
            rates=self._zeros(2, dtype=torch.float32),
            total=self._zeros(2, dtype=torch.float64),
        )

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def _tables_of(self, state: dict[str, Floats]) -> Tables:
        bias = state.get("bias")
        return Tables(
            self._placed(state["input"].copy()),
            self._placed(state["output"].copy()),
            None if bias is None else self._placed(bias.copy()),
        )

    def _ways_of(self, subject: Subject) -> Ways:
        tree = huffman_tree(subject.counts)
        lengths = np.diff(tree.starts)
        mask = np.arange(lengths.max()) < lengths[:, None]
        nodes = np.zeros(mask.shape, dtype=np.int64)
        turns = np.zeros(mask.shape, dtype=np.float32)
        nodes[mask], turns[mask] = tree.nodes, tree.turns
        return Ways(self._placed(nodes), self._placed(turns), self._placed(mask))

    def _placed(self, values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
