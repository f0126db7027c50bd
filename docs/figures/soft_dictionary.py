"""Draw the soft dictionary: one query on the colour wheel, hard and soft.

    python docs/figures/soft_dictionary.py [--output docs/figures/soft-dictionary.svg]

The weights are computed by `softquery.attention`, as in the tutorial that the picture belongs to.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

from softquery.attention import Attended, attend, dot, tempered

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)

NAMES = ("red", "yellow", "green", "cyan", "blue", "magenta")
VALUES = torch.tensor(
    [[1.0, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1]], dtype=torch.float32
)
ASKED = 25.0
TEMPERATURES = (2.0, 0.5, 0.2, 0.1, 0.02)
SHOWN = 0.5
GREY = "#777777"


def on_wheel(degrees: float) -> list[float]:
    """The point of a unit circle at an angle."""
    radians = math.radians(degrees)
    return [math.cos(radians), math.sin(radians)]


KEYS = torch.tensor([on_wheel(60.0 * place) for place in range(len(NAMES))])
QUERY = torch.tensor([on_wheel(ASKED)])


def ask(temperature: float) -> Attended:
    """Ask the wheel for orange."""
    return attend(QUERY, KEYS, VALUES, score=tempered(dot, temperature))


def draw_wheel(axes: Axes, title: str, labels: Sequence[str]) -> None:
    """The keys in a circle, each in its own colour, and the query as an arrow."""
    axes.set_title(title, loc="left", pad=14, fontsize=13)
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.6, 1.6), aspect="equal")
    axes.axis("off")
    for label, key, value in zip(labels, KEYS.tolist(), VALUES.tolist(), strict=True):
        axes.add_patch(Circle(key, 0.16, facecolor=value, edgecolor="black", linewidth=0.8))
        axes.text(1.48 * key[0], 1.4 * key[1], label, ha="center", va="center")
    tip = [0.95 * part for part in QUERY[0].tolist()]
    arrow = FancyArrowPatch((0, 0), tip, arrowstyle="-|>", mutation_scale=18, linewidth=2)
    arrow.set_color("black")
    axes.add_patch(arrow)
    axes.text(1.2 * tip[0], 1.2 * tip[1], "orange?", ha="left", va="center")


def draw_hard(axes: Axes) -> None:
    """A query that equals no key."""
    draw_wheel(axes, "hard: equal to a key, or nothing", NAMES)
    axes.text(0, -0.4, "KeyError", ha="center", va="center", family="DejaVu Sans Mono")


def draw_soft(axes: Axes) -> None:
    """The same query compared with every key."""
    answer = ask(SHOWN)
    weights = answer.weights[0].tolist()
    labels = [f"{name}\n{100 * each:.0f} %" for name, each in zip(NAMES, weights, strict=True)]
    draw_wheel(axes, "soft: every key answers a little", labels)
    for key, weight in zip(KEYS.tolist(), weights, strict=True):
        axes.plot(
            [0, 0.86 * key[0]],
            [0, 0.86 * key[1]],
            color=GREY,
            linewidth=20 * weight,
            solid_capstyle="round",
            zorder=0,
        )
    mixed = answer.mixed[0].tolist()
    axes.add_patch(Circle((0, 0), 0.2, facecolor=mixed, edgecolor="black", linewidth=0.8))


def draw_temperatures(axes: Axes) -> None:
    """The weights at several temperatures as stacked bars, with the mixture beside them."""
    axes.set_title("the temperature decides how soft", loc="left", pad=14, fontsize=13)
    for row, temperature in enumerate(TEMPERATURES):
        answer = ask(temperature)
        left = 0.0
        for value, weight in zip(VALUES.tolist(), answer.weights[0].tolist(), strict=True):
            axes.barh(row, weight, left=left, height=0.62, color=[value], edgecolor="black")
            left += weight
        mixed = answer.mixed[0].clamp(0, 1).tolist()
        axes.barh(row, 0.16, left=1.06, height=0.62, color=[mixed], edgecolor="black")
    axes.set(xlim=(0, 1.26), ylim=(len(TEMPERATURES) - 0.4, -0.6))
    axes.set_yticks(range(len(TEMPERATURES)), [f"{each:g}" for each in TEMPERATURES])
    axes.set_xticks([0, 0.5, 1.0, 1.14], ["0", "weights", "1", "mix"])
    axes.set_ylabel("temperature")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("soft-dictionary.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(13, 4.1), width_ratios=(1, 1, 1.1), layout="constrained"
    )
    draw_hard(left)
    draw_soft(middle)
    draw_temperatures(right)
    is_svg = options.output.suffix == ".svg"
    figure.savefig(
        options.output,
        dpi=150,
        facecolor="white",
        metadata={"Date": None, "Title": "The soft dictionary"} if is_svg else None,
    )


if __name__ == "__main__":
    main()
