"""Draw what three tasks have learnt to read of the layers of one biLM.

    python docs/figures/layer_weights.py [--output docs/figures/layer-weights.svg]

The numbers are those of the shipped `tagger-en`, `sentiment-en` and `ner-en`, all on `elmo-en`;
they are read from the bundles.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

from softquery.bundle import read_bundle
from softquery.bundle.layer_weights import LayerShares, learnt_layers
from softquery.zoo import resolve

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)
from matplotlib.axes import Axes  # noqa: E402

MODELS = {"tagger-en": "parts of speech", "sentiment-en": "sentiment", "ner-en": "names"}
COLOURS, GREY = ["#4c72b0", "#dd8452", "#55a868"], "#999999"
WIDTH = 0.26


def mix_of(name: str) -> LayerShares:
    """What a shipped model reads at its input."""
    [mix] = learnt_layers(read_bundle(resolve(name)))
    return mix


def draw(axes: Axes) -> None:
    """A group of bars for each layer, one bar for each task."""
    for place, (name, task) in enumerate(MODELS.items()):
        mix = mix_of(name)
        middles = np.arange(len(mix.shares)) + (place - 1) * (WIDTH + 0.03)
        label = f"{task} ({name}, γ = {mix.scale:.2f})"
        bars = axes.bar(middles, mix.shares, WIDTH, color=COLOURS[place], label=label)
        axes.bar_label(bars, fmt="%.2f", padding=-16, color="white")
    axes.axhline(1 / 3, color=GREY, linewidth=1, linestyle="--")
    axes.text(2.45, 1 / 3 + 0.018, "before training", ha="right", color=GREY, fontsize=10)
    axes.set_xticks(range(3), ["layer 0\ncharacters", "layer 1\nLSTMs", "layer 2\nLSTMs"])
    axes.set(ylim=(0, 0.8), ylabel="share in the mix")
    axes.legend(frameon=False, loc="upper right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("layer-weights.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    figure, axes = plt.subplots(figsize=(7.5, 3.9), layout="constrained")
    draw(axes)
    is_svg = options.output.suffix == ".svg"
    facts = {"Date": None, "Title": "What tasks read of ELMo's layers"} if is_svg else None
    figure.savefig(options.output, dpi=110, facecolor="white", metadata=facts)


if __name__ == "__main__":
    main()
