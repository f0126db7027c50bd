"""Draw accuracy against the number of labelled rows, a panel for each set."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

OURS = "classify-few"
COLOURS = {
    "classify": "#c44e52",
    "classify-tuned": "#111111",
    "tfidf": "#999999",
    "minilm": "#4c72b0",
    "simbert": "#4c72b0",
    "setfit": "#2a7f3f",
}
MARKS = {
    "classify": "o",
    "classify-tuned": "*",
    "tfidf": "s",
    "minilm": "^",
    "simbert": "^",
    "setfit": "D",
}
"""By a contestant's name, or by what stands before its first hyphen."""
LINES = {"few": "-", "tuned": "--", "": "--", "10": "-", "cv": ":"}
"""By what stands behind it: for the others, how their C was chosen."""
TITLES = {
    "classify-few": "classify-few (mean and range)",
    "tfidf": "TF-IDF, C = 1",
    "tfidf-10": "TF-IDF, C = 10",
    "tfidf-cv": "TF-IDF, C by cross-validation",
    "minilm": "MiniLM or SimBERT-tiny, C = 1",
    "minilm-10": "MiniLM or SimBERT-tiny, C = 10",
    "minilm-cv": "MiniLM or SimBERT-tiny, C by cross-validation",
}
SLOW = {
    "classify-tuned": "classify-tuned (1 to 3 samples)",
    "setfit": "SetFit's recipe on MiniLM (1 or 2 samples)",
}
"""What was run on few samples alone; it stands in every panel that has it."""
Means = Mapping[tuple[str, int], Mapping[str, list[float]]]


def draw(
    means: Means,
    sets: Mapping[bool, list[str]],
    names_of: Callable[[bool], list[str]],
    path: Path,
) -> None:
    """Write the figure.

    Args:
        means: Accuracies in per cent of samples by set and rows, and then by contestant.
        sets: The sets of a row of panels, by whether they are Chinese.
        names_of: The contestants of a row.
        path: An .svg.
    """
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = path.name  # equal figures are equal files
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    slow = {
        name: title
        for name, title in SLOW.items()
        if any(each.get(name) for each in means.values())
    }
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    panels = figure.subplots(len(sets), max(map(len, sets.values())), sharex=True)
    for line, (chinese, names) in zip(panels, sets.items(), strict=True):
        for panel, name in zip(line, names, strict=True):
            found = {rows: each for (key, rows), each in sorted(means.items()) if key == name}
            for contestant in names_of(chinese):
                _draw_one(panel, contestant, found, TITLES.get(contestant))
            for contestant, title in slow.items():
                _draw_one(panel, contestant, found, title)
            panel.set_title(name, fontsize=10)
            panel.set_xscale("log")
            panel.set_xticks(list(found), [f"{rows:,}" for rows in found])
            panel.minorticks_off()
            panel.grid(axis="y", color="#dddddd", linewidth=0.5)
            panel.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("accuracy, %")
    for panel in panels[-1]:
        panel.set_xlabel("labelled rows")
    handles, labels = panels[0][0].get_legend_handles_labels()
    # A column for each kind of contestant; what trains an encoder stands under ours.
    blank = [Line2D([], [], linestyle="")] * (len(SLOW) - len(slow))
    handles = [handles[0], *handles[7:], *blank, *handles[1:7]]
    labels = [labels[0], *labels[7:], *(" " for _ in blank), *labels[1:7]]
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None})


def _draw_one(
    panel: Any, contestant: str, found: Mapping[int, Mapping[str, list[float]]], title: str | None
) -> None:
    """The means of a contestant; of ours the range over samples, too."""
    base, _, cost = contestant.partition("-")
    values = {rows: each[contestant] for rows, each in found.items() if each.get(contestant)}
    middles = [sum(each) / len(each) for each in values.values()]
    panel.plot(
        list(values),
        middles,
        LINES[cost],
        color=COLOURS.get(contestant, COLOURS[base]),
        marker=MARKS.get(contestant, MARKS[base]),
        markersize=7 if contestant in SLOW else 3.5,
        label=title,
    )
    if contestant == OURS:
        low, high = ([pick(each) for each in values.values()] for pick in (min, max))
        panel.fill_between(list(values), low, high, color=COLOURS[base], alpha=0.15, linewidth=0)
