"""Draw why scores are divided by √d: variance, entropy and slope of random queries and keys.

    python docs/figures/root_d.py [--output docs/figures/root-d.svg]

Queries and keys are drawn from a normal distribution, and everything else is computed by
`softquery.attention`, from seed 1.
"""

import argparse
from pathlib import Path

import matplotlib
import torch
from matplotlib.axes import Axes
from torch import Tensor

from softquery.attention import Score, attend, dot, scaled_dot

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
NUM_QUERIES, NUM_KEYS = 400, 32
SCORES: tuple[tuple[str, Score, str], ...] = (
    ("q·k", dot, "#dd8452"),
    ("q·k / √d", scaled_dot, "#4c72b0"),
)


def drawn(width: int) -> tuple[Tensor, Tensor]:
    """Random queries and keys whose numbers have mean 0 and variance 1."""
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(NUM_QUERIES, width, generator=generator)
    return query, torch.randn(NUM_KEYS, width, generator=generator)


def weights(score: Score, width: int) -> Tensor:
    """What a softmax makes of the scores."""
    query, key = drawn(width)
    return attend(query, key, key, score=score).weights


def variance(score: Score, width: int) -> float:
    """The variance of the scores."""
    return float(score(*drawn(width)).var())


def entropy(score: Score, width: int) -> float:
    """Mean entropy of the weights in bits: 5 where 32 keys weigh the same, 0 where one has all."""
    found = weights(score, width)
    return float(-(found * found.clamp_min(1e-30).log2()).sum(-1).mean())


def slope(score: Score, width: int) -> float:
    """How much the weights follow a score: the mean trace of the softmax's Jacobian."""
    found = weights(score, width)
    return float((found * (1 - found)).sum(-1).mean())


def draw(axes: Axes, title: str, measure: object, *, log: bool = False) -> None:
    """One quantity against the width, with and without the division."""
    assert callable(measure)
    for name, score, colour in SCORES:
        values = [measure(score, width) for width in WIDTHS]
        axes.plot(WIDTHS, values, color=colour, marker="o", markersize=4, label=name)
    axes.set_xscale("log", base=2)
    if log:
        axes.set_yscale("log")
    axes.set_xticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1024"])
    axes.set_xlabel("width d of query and key")
    axes.set_title(title, loc="left", fontsize=12, pad=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("root-d.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 3.8), layout="constrained")
    draw(left, "variance of the scores", variance, log=True)
    draw(middle, "entropy of 32 weights, in bits", entropy)
    draw(right, "slope of the softmax", slope)
    left.legend(frameon=False)
    is_svg = options.output.suffix == ".svg"
    facts = {"Date": None, "Title": "Why scores are divided by the root of d"} if is_svg else None
    figure.savefig(options.output, dpi=110, facecolor="white", metadata=facts)


if __name__ == "__main__":
    main()
