"""Draw how an embedding finds the circle that one-hot vectors hide: the twelve months.

    python docs/figures/one_hot.py [--output docs/figures/one-hot.svg]

Everything is computed, as on the page that the picture belongs to: months are counted beside their
neighbours in the year, and the counts are reduced to two numbers per month by a singular value
decomposition.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
REACH = 3
INK, COLOUR, GREY = "#222222", "#4c72b0", "#999999"


def counts() -> np.ndarray:
    """How often each month stands near each other one, if texts go on through the year."""
    table = np.zeros((12, 12))
    for month in range(12):
        for step in range(1, REACH + 1):
            for other in (month + step, month - step):
                table[month, other % 12] += 1 / step
    return table


def embedding() -> np.ndarray:
    """Two numbers per month, which keep as much of the counts as two numbers can."""
    table = counts()
    left, sizes, _ = np.linalg.svd(table - table.mean())
    points = left[:, :2] * sizes[:2]
    start = np.arctan2(points[0, 1], points[0, 0])
    turn = np.array([[np.cos(start), -np.sin(start)], [np.sin(start), np.cos(start)]])
    points = points @ turn  # January to the right
    return np.asarray(points * [1, np.sign(points[3, 1])])  # spring above


def draw_table(axes: Axes, table: np.ndarray, title: str) -> None:
    """A square table, dark where it is large."""
    axes.imshow(table, cmap="Blues", vmin=0, vmax=table.max())
    axes.set_title(title, loc="left", fontsize=12, pad=10)
    axes.set_xticks(range(12), [month[0] for month in MONTHS], fontsize=9)
    axes.set_yticks(range(12), MONTHS, fontsize=9)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_color(GREY)


def draw_circle(axes: Axes) -> None:
    """The months at their two numbers, and the curve on which they lie."""
    points = embedding()
    closed = np.vstack([points, points[:1]])
    axes.plot(closed[:, 0], closed[:, 1], color=GREY, linewidth=1, linestyle="--")
    axes.scatter(points[:, 0], points[:, 1], color=COLOUR, s=36, zorder=2)
    for month, (x, y) in zip(MONTHS, points.tolist(), strict=True):
        axes.text(1.17 * x, 1.17 * y, month, ha="center", va="center", color=INK)
    axes.set_title("embedded: two numbers per month", loc="left", fontsize=12, pad=10)
    reach = 1.35 * float(np.abs(points).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.axis("off")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("one-hot.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 4.1), layout="constrained")
    draw_table(left, np.eye(12), "one-hot: twelve numbers per month")
    draw_table(middle, counts(), "counted: who stands near whom")
    draw_circle(right)
    is_svg = options.output.suffix == ".svg"
    facts = {"Date": None, "Title": "From one-hot to embedding"} if is_svg else None
    figure.savefig(options.output, dpi=110, facecolor="white", metadata=facts)


if __name__ == "__main__":
    main()
