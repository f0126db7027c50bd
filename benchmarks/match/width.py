"""What a wider ESIM costs and what it brings: accuracy against latency at hidden 128, 200 and 300.

    python benchmarks match width --picture benchmarks/match/width.png [--threads 2] [--rounds 3]

Latency is measured here, in turns, through the public API on int8 models of random weights, which
cost what trained ones cost. Accuracy is read from `shipped.json`: seed 1 of the recipes
`nli-en` and `match-en` at each width, trained alike.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.match.random_matchers import random_matcher

import softquery
from softquery.bench.sample_sentences import sentences
from softquery.files import write_json

WIDTHS = (128, 200, 300)
HERE = Path(__file__).parent
TRAINED = {
    "nli-en": ("snli_100k", {128: "n128", 200: "n200", 300: "n300"}),
    "match-en": ("qqp_20k", {128: "m128", 200: "m200", 300: "m300"}),
}


def timed(matcher: softquery.Matcher, seconds: float) -> dict[str, list[float]]:
    """Times of single pairs and of rankings of 100 stored candidates."""
    texts = sentences(1000)
    stored = matcher.encodings(texts[:100])
    scenes = {
        "pair": lambda turn: matcher.predict([(texts[100 + turn], texts[500 + turn])]),
        "rank": lambda turn: matcher.rank(texts[100 + turn], texts[:100], encodings=stored),
    }
    found: dict[str, list[float]] = {}
    for name, act in scenes.items():
        act(0)
        found[name], end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            act(len(found[name]) % 400)
            found[name].append(1000 * (time.perf_counter() - start))
    return found


def draw(table: dict[str, dict], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, colour in zip(TRAINED, ("#4c72b0", "#dd8452"), strict=True):
        source = TRAINED[name][0]
        times = [table[str(width)]["rank_ms"] for width in WIDTHS]
        scores = [100 * table[str(width)][name] for width in WIDTHS]
        axes.plot(times, scores, "o-", color=colour, label=f"{name} on {source}")
        for width, x, y in zip(WIDTHS, times, scores, strict=True):
            axes.annotate(f"{width}", (x, y), xytext=(0, 7), textcoords="offset points")
    axes.set(xlabel="rank 100 stored candidates, int8, ms", ylabel="dev accuracy, %")
    axes.set_title("hidden size: accuracy against latency", loc="left")
    axes.margins(0.12, 0.18)
    axes.legend(loc="center right", frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    trained = json.loads((HERE / "shipped.json").read_text())["runs"]
    times: dict[int, dict[str, list[float]]] = {width: {"pair": [], "rank": []} for width in WIDTHS}
    with tempfile.TemporaryDirectory() as folder:
        matchers = {
            width: softquery.load(
                random_matcher(Path(folder) / str(width), hidden_size=width),
                threads=options.threads,
            )
            for width in WIDTHS
        }
        for _ in range(options.rounds):
            for width, matcher in matchers.items():
                for scene, found in timed(matcher, options.seconds).items():
                    times[width][scene] += found
    table: dict[str, dict] = {}
    for width in WIDTHS:
        row = {f"{scene}_ms": statistics.median(times[width][scene]) for scene in ("pair", "rank")}
        for name, (source, runs) in TRAINED.items():
            row[name] = trained[name][runs[width]]["sources"][source]["accuracy"]
        table[str(width)] = row
        print(width, {key: round(value, 4) for key, value in row.items()})
    write_json(HERE / "width.json", {"threads": options.threads, "widths": table})
    if options.picture:
        draw(table, options.picture)


if __name__ == "__main__":
    main()
