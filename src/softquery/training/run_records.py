"""What a run writes: its state, so that it can be resumed, and its log with the curves.

The state is one safetensors file: weights, optimiser, average, memory, random state and place. It
is written beside and renamed, so that whatever kills the process leaves the last complete state. No
pickle: what is not a tensor is JSON in the file's header. The log is `log.csv`, with TensorBoard
events where that is installed.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from softquery.atomic import write_bytes
from softquery.errors import BundleError
from softquery.files import write_text
from softquery.training.average import WeightAverage
from softquery.training.plan import Memory
from softquery.training.sharding import share_of, shares, whole

NAME = "checkpoint.safetensors"
FIRST_COLUMNS = ("step", "epoch", "loss", "lr", "examples_per_second")


def save_tensors(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write tensors and a JSON state as one file, completely or not at all."""
    alone = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, save(alone, metadata={"format": "softquery", "state": json.dumps(state)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            return tensors, json.loads(opened.metadata()["state"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise BundleError(f"{path}: not a readable checkpoint ({reason})") from error


def checkpoint_tensors(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage | None,
    memory: dict[str, Tensor],
) -> dict[str, Tensor]:
    """All tensors that the run's future depends on, whole; by all processes that hold shares."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, values in optimizer.state_dict()["state"].items():
        tensors.update({f"optim.{index}.{key}": value for key, value in values.items()})
    if average is not None:
        tensors.update({f"average.{name}": value for name, value in average.state().items()})
    tensors.update({f"memory.{name}": value for name, value in memory.items()})
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    return whole(tensors)


def load_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage | None,
    memory: Memory | None = None,
) -> dict[str, Any]:
    """Put a run back to where its checkpoint was; returns the JSON state."""
    tensors, state = load_tensors(folder / NAME)
    try:
        model.load_state_dict(shares(_under("model.", tensors), model))
        if average is not None:
            average.restore(_under("average.", tensors))
        if memory is not None:
            memory.restore(_under("memory.", tensors))
        torch.set_rng_state(tensors["random.cpu"])
    except KeyError as error:
        raise BundleError(f"{folder / NAME}: does not fit this run: lacks {error}") from error
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise BundleError(f"{folder / NAME}: does not fit this model: {reason}") from error
    _restore_optimizer(optimizer, _under("optim.", tensors))
    if torch.cuda.is_available() and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return state


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    held = [each for group in optimizer.param_groups for each in group["params"]]
    for name, value in tensors.items():
        index, key = name.split(".", 1)
        alike = held[int(index)] if int(index) < len(held) else value
        state.setdefault(int(index), {})[key] = share_of(value, alike)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


class History:
    """The rows of a run; the list itself travels in the checkpoint, so a resumed log has no gap.

    Args:
        folder: Where `log.csv` and `tensorboard/` are written; None for a process that writes
            nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.latest: dict[str, float] = {}
        self._writer: Any = None

    def add(self, rows: list[dict[str, float]], row: dict[str, float]) -> None:
        """Append one row."""
        rows.append(row)
        self.latest = {**self.latest, **row}
        writer = self._tensorboard(int(row["step"]))
        if writer is not None:
            for name, value in row.items():
                if name not in ("step", "epoch"):
                    writer.add_scalar(name, value, int(row["step"]))

    def write(self, rows: list[dict[str, float]]) -> None:
        """Write all rows as `log.csv`."""
        if self.folder is None:
            return
        if self._writer is not None:
            self._writer.flush()
        names = dict.fromkeys([*FIRST_COLUMNS, *(name for row in rows for name in row)])
        text = io.StringIO()
        table = csv.DictWriter(text, fieldnames=list(names), lineterminator="\n")
        table.writeheader()
        table.writerows({name: _shown(value) for name, value in row.items()} for row in rows)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / "log.csv", text.getvalue())

    def close(self) -> None:
        """Flush TensorBoard."""
        if self._writer is not None:
            self._writer.close()

    def _tensorboard(self, step: int) -> Any:
        if self._writer is None and self.folder is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                return None
            # What a killed run showed of this step and later ones gives way to what comes now.
            self._writer = SummaryWriter(str(self.folder / "tensorboard"), purge_step=step)
        return self._writer


def epoch_means(rows: list[dict[str, float]], epoch: int) -> dict[str, float]:
    """Loss and speed of a whole epoch: each logged row weighs as many steps as it covers.

    >>> rows = [{"step": 100, "epoch": 0, "loss": 0.5, "examples_per_second": 200.0},
    ...         {"step": 101, "epoch": 0, "loss": 9.0, "examples_per_second": 2.0}]
    >>> {name: round(value, 3) for name, value in epoch_means(rows, 0).items()}
    {'loss': 0.584, 'examples_per_second': 101.0}
    """
    before, covered = 0.0, []
    for row in rows:
        if "loss" in row:
            if row["epoch"] == epoch:
                covered.append((row["step"] - before, row))
            before = row["step"]
    steps = sum(count for count, _ in covered)
    if not steps:
        return {}
    means = {"loss": sum(count * row["loss"] for count, row in covered) / steps}
    for name in covered[0][1]:
        if name.endswith("_per_second"):
            seconds = sum(count / max(1e-9, row[name]) for count, row in covered)
            means[name] = steps / seconds
    return means


def _shown(value: float) -> str:
    """Counts in full, measurements to six digits."""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def draw_curves(rows: list[dict[str, float]], metric: str, path: Path) -> bool:
    """Loss and held-back metric against steps, as a PNG; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.add_subplot()
    losses = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    scores = [(row["step"], row[metric]) for row in rows if metric in row]
    if losses:
        left.plot(*zip(*losses, strict=True), color="#4c72b0", label="training loss")
    left.set(xlabel="step", ylabel="training loss")
    right = left.twinx()
    if scores:
        right.plot(*zip(*scores, strict=True), color="#dd8452", marker="o", ms=3, label=metric)
    right.set_ylabel(f"held-back {metric}")
    if losses or scores:
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path, dpi=120)
    return True
