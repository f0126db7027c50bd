"""Draw who may see whom: in a masked language model and in one that reads from left to right.

    python docs/figures/two_masks.py [--output docs/figures/two-masks.svg]

The right mask is `softquery.attention.causal_mask`.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from softquery.attention import causal_mask

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)

WORDS = ["the", "cat", "sat", "on", "it"]
HIDDEN = 2
SEEN, ASKED, UNSEEN = "#c9d7ee", "#dd8452", "#f4f4f4"


def draw(axes: Axes, title: str, below: list[str], above: list[str], seen: np.ndarray) -> None:
    """A row for each asking place, a column for each asked one."""
    num = len(below)
    for row in range(num):
        for column in range(num):
            colour = SEEN if seen[row, column] else UNSEEN
            cell = plt.Rectangle((column, row), 0.94, 0.94, facecolor=colour, edgecolor="white")
            axes.add_patch(cell)
        if above[row]:
            axes.text(num + 0.2, row + 0.47, f"→ {above[row]}", va="center", color=ASKED)
    for place, word in enumerate(below):
        axes.text(place + 0.47, -0.25, word, ha="center", va="bottom", fontsize=10)
        axes.text(-0.2, place + 0.47, word, ha="right", va="center", fontsize=10)
    axes.set(xlim=(-1.5, num + 1.4), ylim=(num + 0.1, -0.9), aspect="equal")
    axes.set_title(title, loc="left", fontsize=12, pad=8)
    axes.axis("off")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("two-masks.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
    masked = [*WORDS[:HIDDEN], "[MASK]", *WORDS[HIDDEN + 1 :]]
    answers = [WORDS[HIDDEN] if place == HIDDEN else "" for place in range(len(WORDS))]
    whole = np.ones((len(WORDS), len(WORDS)), dtype=bool)
    draw(left, "masked: the answer is not in the input", masked, answers, whole)
    shifted = ["<bos>", *WORDS[:-1]]
    past = causal_mask(len(WORDS), len(WORDS)).numpy()
    draw(right, "left to right: the answer is the next input", shifted, WORDS, past)
    is_svg = options.output.suffix == ".svg"
    facts = {"Date": None, "Title": "Two language models, two masks"} if is_svg else None
    figure.savefig(options.output, dpi=110, facecolor="white", metadata=facts)


if __name__ == "__main__":
    main()
