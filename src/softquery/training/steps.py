"""One optimiser step, in three forms with the same result: eager, and recorded as CUDA graphs.

A large GPU finishes ESIM's small kernels faster than Python can launch them. `GraphedStep` records
the whole step once per batch shape (padding, forward, backward, clipping, update) and replays it
with one launch. `BatchGraphedStep` is for batches whose shapes follow from what they hold: it makes
them first and records the rest.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.wrappers import _FabricModule
from torch import Tensor

from softquery.data import Slot
from softquery.training.average import WeightAverage


class EagerStep:
    """A step launched operation by operation; works everywhere.

    Args:
        fabric: Precision, device and processes.
        model: As `fabric.setup` returned it.
        optimizer: As `fabric.setup` returned it.
        make_batch: From rows and a padded length to a batch on the device.
        loss: From the model's output and the batch to its mean loss.
        clip_norm: Largest gradient norm; 0 for no limit.
        accumulate: Parts into which a batch is cut to save memory; the result is that of the whole
            batch.
        average: Updated after each step where given.
    """

    def __init__(
        self,
        fabric: Fabric,
        model: _FabricModule,
        optimizer: torch.optim.Optimizer,
        *,
        make_batch: Callable[[Tensor, int], Any],
        loss: Callable[[Any, Any], Tensor],
        clip_norm: float = 0.0,
        accumulate: int = 1,
        average: WeightAverage | None = None,
    ) -> None:
        self.fabric = fabric
        self.model = model
        self.optimizer = optimizer
        self.make_batch = make_batch
        self.loss = loss
        self.clip_norm = clip_norm
        self.accumulate = accumulate
        self.average = average
        self.loss_sum = torch.zeros(
            (),
            dtype=torch.float64 if fabric.device.type == "cpu" else torch.float32,
            device=fabric.device,
        )

    def __call__(self, slot: Slot) -> None:
        """Train on one batch, adding its loss to `loss_sum`."""
        self._run(slot.rows.to(self.fabric.device, non_blocking=True), slot.length)

    def _run(self, rows: Tensor, length: int) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        parts = list(rows.chunk(self.accumulate))
        for place, part in enumerate(parts):
            mine, weight = self._share(part, len(rows))
            last = place == len(parts) - 1
            with nullcontext() if last else self.fabric.no_backward_sync(self.model):
                self._learn(self.make_batch(mine, length), weight)
        self._update()

    def _learn(self, batch: Any, weight: float = 1.0) -> None:
        loss = self.loss(self.model(batch), batch) * weight
        self.fabric.backward(loss)
        self.loss_sum += loss.detach()  # the weight makes its own rows stand for all

    def _update(self) -> None:
        if self.clip_norm:
            self.fabric.clip_gradients(
                self.model, self.optimizer, max_norm=self.clip_norm, error_if_nonfinite=False
            )
        self.optimizer.step()
        if self.average is not None:
            self.average.update()

    def _share(self, part: Tensor, total: int) -> tuple[Tensor, float]:
        """This process's rows, and the weight by which a mean over processes is one over rows."""
        world = self.fabric.world_size
        mine = part[self.fabric.global_rank :: world]
        if len(mine):
            return mine, len(mine) * world / total
        return part[:1], 0.0  # fewer rows than processes: take part in the exchange, weigh nothing


class GraphedStep(EagerStep):
    """The same step, recorded per batch shape and replayed. One GPU, no accumulation.

    The first batch of a shape runs eagerly (it counts as training and warms the kernels up), the
    second is recorded.
    """

    def __init__(self, *args: Any, limit: int = 64, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.limit = limit
        self._seen: set[tuple[int, ...]] = set()
        self._graphs: dict[tuple[int, ...], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self._pool: Any = None

    @staticmethod
    def serves(fabric: Fabric, accumulate: int) -> bool:
        """Whether this run can be recorded."""
        return fabric.device.type == "cuda" and fabric.world_size == 1 and accumulate == 1

    def __call__(self, slot: Slot) -> None:
        """Replay the step for this shape, recording it first where it is new."""
        key = (*slot.rows.shape, slot.length)
        if key not in self._graphs:
            if key not in self._seen or len(self._graphs) >= self.limit:
                self._seen.add(key)
                super().__call__(slot)
                return
            self._record(key, slot)
        graph, rows = self._graphs[key]
        rows.copy_(slot.rows, non_blocking=True)
        graph.replay()

    def _record(self, key: tuple[int, ...], slot: Slot) -> None:
        rows = torch.zeros_like(slot.rows, device=self.fabric.device)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._run(rows, slot.length)
        self._pool = self._pool or graph.pool()
        self._graphs[key] = (graph, rows)


class BatchGraphedStep(EagerStep):
    """The same step, recorded per shape of the batch that was made for it.

    For batches that cannot be made in a recording, such as those that hold every distinct word
    once. One GPU, no accumulation.
    """

    def __init__(self, *args: Any, limit: int = 64, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.limit = limit
        self._seen: set[Shapes] = set()
        self._graphs: dict[Shapes, tuple[torch.cuda.CUDAGraph, Any]] = {}
        self._pool: Any = None

    def __call__(self, slot: Slot) -> None:
        """Make the batch; replay the step for its shape, recording it first where it is new."""
        rows = slot.rows.to(self.fabric.device, non_blocking=True)
        batch = self.make_batch(rows, slot.length)
        key = shapes_of(batch)
        if key not in self._graphs:
            if key not in self._seen or len(self._graphs) >= self.limit:
                self._seen.add(key)
                self.optimizer.zero_grad(set_to_none=True)
                self._learn(batch)
                self._update()
                return
            self._record(key, batch)
        graph, static = self._graphs[key]
        for into, values in zip(tensors_of(static), tensors_of(batch), strict=True):
            into.copy_(values, non_blocking=True)
        graph.replay()

    def _record(self, key: "Shapes", batch: Any) -> None:
        static = cloned(batch)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._learn(static)
            self._update()
        self._pool = self._pool or graph.pool()
        self._graphs[key] = (graph, static)


def seed_share(seed: int, step: int, rank: int) -> None:
    """Let each of several processes draw its own dropout, at every step from a known beginning.

    What is drawn depends on nothing else, so that all of them go on as they were after a run was
    interrupted, though only the first one saves its state.
    """
    drawn = np.random.SeedSequence((seed, step, rank)).generate_state(1, np.uint64)
    torch.manual_seed(int(drawn[0]))


Shapes = tuple[Any, ...]


def shapes_of(batch: Any) -> Shapes:
    """The shapes of all tensors of a batch, and everything else that it holds.

    >>> shapes_of((torch.zeros(2, 3), (4, None)))
    ((2, 3), (4, None))
    """
    if isinstance(batch, Tensor):
        return tuple(batch.shape)
    if isinstance(batch, tuple):
        return tuple(shapes_of(part) for part in batch)
    return batch  # type: ignore[no-any-return]


def tensors_of(batch: Any) -> Iterator[Tensor]:
    """All tensors of a batch, including those of tuples within it."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, tuple):
        for part in batch:
            yield from tensors_of(part)


def cloned(batch: Any) -> Any:
    """A copy of a batch, with tensors of its own."""
    if isinstance(batch, Tensor):
        return batch.clone()
    if not isinstance(batch, tuple):
        return batch
    parts = [cloned(part) for part in batch]
    return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
