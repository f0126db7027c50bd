"""The benchmark as a picture: how long a ranking and a pair take, on a logarithmic axis."""

from pathlib import Path

from softquery.atomic import write_atomically
from softquery.bench.match import MatchBench
from softquery.errors import MissingExtra

TITLES = {"rank100_s": "rank 100 candidates", "pair_s": "one pair"}


def draw(bench: MatchBench, path: Path) -> None:
    """Horizontal bars, shortest on top, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plot", needed_for="a picture of the benchmark") from None
    figure = Figure(figsize=(9, 1.2 + 0.42 * len(bench.rows)), layout="constrained")
    for axes, (scene, title) in zip(figure.subplots(1, 2), TITLES.items(), strict=True):
        names = sorted(bench.rows, key=lambda name: -bench.rows[name][scene])
        times = [1000 * bench.rows[name][scene] for name in names]
        colours = ["#4c72b0" if name.startswith("softquery") else "#bbbbbb" for name in names]
        bars = axes.barh(names, times, color=colours)
        axes.bar_label(bars, labels=[f" {_shown(value)} ms" for value in times])
        axes.set(xscale="log", title=title, xlabel="milliseconds, median")
        axes.set_xlim(min(times) / 3, 30 * max(times))  # room for the longest bar's label
    with write_atomically(path, "wb") as handle:
        figure.savefig(handle, dpi=120, format="png")


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"
