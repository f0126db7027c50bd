"""What a run writes down: `log.csv`, TensorBoard events where that is installed, and the curves."""

import csv
import io
from pathlib import Path
from typing import Any

from softquery.files import write_text

FIRST_COLUMNS = ("step", "epoch", "loss", "lr", "examples_per_second")


class History:
    """The rows of a run; the list itself travels in the checkpoint, so a resumed log has no gap.

    Args:
        folder: Where `log.csv` and `tensorboard/` are written; None for a process that only counts
            along.
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
