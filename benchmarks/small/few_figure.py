"""Draw accuracy against the number of labelled rows, a panel for each set."""

from collections.abc import Callable, Mapping
from pathlib import Path

STYLES = {
    "classify-few": ("#c44e52", "-", "o"),
    "tfidf": ("#999999", "--", "s"),
    "tfidf-10": ("#999999", "-", "s"),
    "minilm": ("#4c72b0", "--", "^"),
    "minilm-10": ("#4c72b0", "-", "^"),
    "simbert": ("#4c72b0", "--", "^"),
    "simbert-10": ("#4c72b0", "-", "^"),
}
"""Colour, line and mark of each contestant."""
TITLES = {
    "classify-few": "classify-few",
    "tfidf": "TF-IDF, logistic regression (C = 1)",
    "tfidf-10": "TF-IDF, logistic regression (C = 10)",
    "minilm": "MiniLM (English), SimBERT-tiny (Chinese), logistic regression (C = 1)",
    "minilm-10": "the same (C = 10)",
}
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

    figure = Figure(figsize=(11, 6), layout="constrained")
    panels = figure.subplots(len(sets), max(map(len, sets.values())), sharex=True)
    for line, (chinese, names) in zip(panels, sets.items(), strict=True):
        for panel, name in zip(line, names, strict=True):
            sizes = sorted(rows for key, rows in means if key == name)
            for contestant in names_of(chinese):
                colour, style, mark = STYLES[contestant]
                values = [means[name, rows][contestant] for rows in sizes]
                middles = [sum(each) / len(each) for each in values]
                title = TITLES.get(contestant)
                panel.plot(
                    sizes, middles, style, color=colour, marker=mark, markersize=3.5, label=title
                )
                if contestant == "classify-few":
                    low, high = [min(each) for each in values], [max(each) for each in values]
                    panel.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            panel.set_title(name, fontsize=10)
            panel.set_xscale("log")
            panel.set_xticks(sizes, [f"{rows:,}" for rows in sizes])
            panel.minorticks_off()
            panel.grid(axis="y", color="#dddddd", linewidth=0.5)
            panel.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("accuracy, %")
    for panel in panels[-1]:
        panel.set_xlabel("labelled rows")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None})
