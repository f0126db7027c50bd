"""Draw what a longer text costs by recurrence, convolution and attention, and how far words are.

    python docs/figures/cost_and_path.py [--output docs/figures/cost-and-path.svg]

Times are those of `benchmarks/theory/cost.json`; path lengths are computed from their formulas.
"""

import argparse
import json
import math
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)

ROWS = Path(__file__).resolve().parents[2] / "benchmarks" / "theory" / "cost.json"
COLOURS = {"recurrence": "#c44e52", "convolution": "#55a868", "attention": "#4c72b0"}
WIDTH = 256
KERNEL = 3


def times() -> dict[str, dict[int, float]]:
    """Milliseconds by layer and length."""
    found: dict[str, dict[int, float]] = {name: {} for name in COLOURS}
    for row in json.loads(ROWS.read_text(encoding="utf-8"))["rows"]:
        if row["width"] == WIDTH:
            found[row["layer"]][row["length"]] = row["ms"]
    return found


def dilated(length: int) -> int:
    """Layers until convolutions whose gaps grow threefold reach from the first word to the last."""
    return math.ceil(math.log(2 * (length - 1) + 1, KERNEL))


def draw_times(axes: Axes) -> None:
    """Time against length, relative to the recurrence on the shortest text."""
    found = times()
    unit = found["recurrence"][min(found["recurrence"])]
    for name, colour in COLOURS.items():
        lengths = sorted(found[name])
        shown = [found[name][length] / unit for length in lengths]
        axes.plot(lengths, shown, color=colour, marker="o", markersize=4, label=name)
    axes.axvline(WIDTH, color="#999999", linewidth=1, linestyle="--")
    place = axes.get_xaxis_transform()
    axes.text(WIDTH * 1.07, 0.03, "n = d", color="#777777", transform=place)
    axes.set_yscale("log")
    axes.set_ylabel("time, shortest recurrence = 1")
    axes.set_title(f"measured: one layer, d = {WIDTH}", loc="left", fontsize=12, pad=10)
    axes.legend(frameon=False)


def draw_paths(axes: Axes) -> None:
    """The longest path against the length, by formula."""
    lengths = [2**power for power in range(4, 12)]
    steps = [length - 1 for length in lengths]
    few = [dilated(length) for length in lengths]
    green = COLOURS["convolution"]
    axes.plot(lengths, steps, color=green, linewidth=4, alpha=0.6)
    axes.plot(lengths, steps, color=COLOURS["recurrence"], marker="o", markersize=4)
    axes.plot(lengths, few, color=green, marker="o", markersize=4, linestyle=":")
    axes.plot(lengths, [1] * len(lengths), color=COLOURS["attention"], marker="o", markersize=4)
    axes.text(15, 330, f"recurrence; convolution of width {KERNEL}", color=COLOURS["recurrence"])
    axes.text(160, 10, "dilated convolution", color=green)
    axes.text(160, 1.25, "attention", color=COLOURS["attention"])
    axes.set_yscale("log")
    axes.set_ylabel("steps from the first word to the last")
    axes.set_title("computed: how far apart two words are", loc="left", fontsize=12, pad=10)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("cost-and-path.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.2), layout="constrained")
    draw_times(left)
    draw_paths(right)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        ticks = [16, 64, 256, 1024]
        axes.set_xticks(ticks, [str(each) for each in ticks])
        axes.set_xlabel("words of the text, n")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    is_svg = options.output.suffix == ".svg"
    facts = {"Date": None, "Title": "Cost and path length"} if is_svg else None
    figure.savefig(options.output, dpi=110, facecolor="white", metadata=facts)


if __name__ == "__main__":
    main()
