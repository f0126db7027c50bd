"""What each member of ESIM's family costs: ranking 100 stored candidates, by shape.

    python benchmarks match family [--threads 2] [--rounds 7] [--seconds 0.6] [--append]
    python benchmarks match family --report

Models have random weights, which cost what trained ones cost, and are asked through the public API,
tokenisation and the encoding of the query included. In every round each model has one turn, in
float32 and in int8, and the median of its turn is kept. Ratios are taken within a round; their
median over the rounds is told with the quartiles. Milliseconds are those of a model's best round.
Writes `family.json`, with `--append` behind the rounds that it holds, and prints the table of
docs/models/esim-family.md from it; `--report` only prints.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
from benchmarks.match.random_matchers import random_matcher

import softquery
from softquery.bench.sample_sentences import sentences
from softquery.files import write_json

HERE = Path(__file__).parent
RESULTS = HERE / "family.json"
PRECISIONS = ("float32", "int8")
SCENES = ("pair", "rank")
SHIPPED = "200, 200, lstm 200"
"""The sizes of today's shipped matchers, which the others are compared with."""


def esim(hidden: int, projection: int, composer: str, size: int) -> dict[str, Any]:
    return {"hidden_size": hidden, "projection_size": projection, "composer": composer,
            "composer_size": size}  # fmt: skip


VARIANTS: dict[str, dict[str, Any]] = {
    "300, 300, lstm 300": esim(300, 300, "lstm", 300),
    SHIPPED: esim(200, 200, "lstm", 200),
    "300, 96, lstm 96": esim(300, 96, "lstm", 96),
    "300, 96, gru 96": esim(300, 96, "gru", 96),
    "300, 300, feedforward 150": esim(300, 300, "feedforward", 150),
    "300, 128, convolution 128": esim(300, 128, "convolution", 128),
    "200, 96, convolution 96": esim(200, 96, "convolution", 96),
    "decomposable 400": {"model": "decomposable", "hidden_size": 400},
}
"""Encoder, projection and composer, by the names of the table."""
PROBE = {
    "300, 300, lstm 300": "83.9 (3)",
    SHIPPED: "83.5 (3)",
    "300, 96, lstm 96": "83.4 (1)",
    "300, 300, feedforward 150": "84.0 (1)",
    "300, 128, convolution 128": "83.8 (3)",
}
"""Dev accuracy on SNLI-100k and how many seeds it is a mean of, from a probe before this code."""


def scenes_of(loaded: softquery.Matcher) -> dict[str, Callable[[int], object]]:
    """One pair, and a query against 100 stored candidates; no query is encoded already."""
    matcher = softquery.Matcher(loaded.bundle, loaded.backend, cache_bytes=0)
    texts = sentences(1000)
    stored = matcher.encodings(texts[:100])
    return {
        "pair": lambda turn: matcher.predict([(texts[100 + turn], texts[500 + turn])]),
        "rank": lambda turn: matcher.rank(texts[100 + turn], texts[:100], encodings=stored),
    }


def median_ms(act: Callable[[int], object], seconds: float) -> float:
    """The median of as many calls as there is time for."""
    act(0)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        act(len(times) % 400)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Every model's milliseconds, one figure per round."""
    times: dict[str, dict[str, dict[str, list[float]]]] = {
        name: {scene: {kind: [] for kind in PRECISIONS} for scene in SCENES} for name in VARIANTS
    }
    with tempfile.TemporaryDirectory() as folder:
        ready = {
            (name, kind): scenes_of(
                softquery.load(
                    random_matcher(
                        Path(folder) / f"{number}-{kind}", int8=kind == "int8", **settings
                    ),
                    threads=options.threads,
                )
            )
            for number, (name, settings) in enumerate(VARIANTS.items())
            for kind in PRECISIONS
        }
        for _ in range(options.rounds):
            for (name, kind), scenes in ready.items():
                for scene, act in scenes.items():
                    seconds = options.seconds if scene == "rank" else options.seconds / 3
                    times[name][scene][kind].append(round(median_ms(act, seconds), 4))
    return {
        "threads": options.threads,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "onnxruntime": onnxruntime.__version__,
        "softquery": softquery.__version__,
        "milliseconds": times,
    }


def appended(earlier: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """The rounds of two runs, one after the other."""
    for name, scenes in results["milliseconds"].items():
        for scene, kinds in scenes.items():
            for kind, times in kinds.items():
                times[:0] = earlier["milliseconds"][name][scene][kind]
    return results


def accuracy(name: str) -> str:
    """Dev accuracy on SNLI-100k with its number of seeds, where there is one."""
    if name != "decomposable 400":
        return PROBE.get(name, "–")
    runs = json.loads((HERE.parent / "esim" / "decomposable.json").read_text(encoding="utf-8"))
    seeds = [runs[f"seed-{seed}"]["dev"]["accuracy"] for seed in (1, 2, 3)]
    return f"{100 * statistics.mean(seeds):.1f} (3)"


def multiply_adds(settings: dict[str, Any]) -> int:
    """What a token of a pair costs in projection and composer; alignment and pooling aside."""
    hidden = settings["hidden_size"]
    if settings.get("model") == "decomposable":
        return int(hidden * hidden)
    inner, size, name = (settings[key] for key in ("projection_size", "composer_size", "composer"))
    if name in ("lstm", "gru"):
        composer = 2 * {"lstm": 4, "gru": 3}[name] * size * (inner + size)
    else:
        composer = {"feedforward": 1, "convolution": 3}[name] * size * (inner + size)
    return int(2 * hidden * inner + composer)


def rows(results: dict[str, Any]) -> list[list[str]]:
    """The cells of the table: rank in both precisions, how many times faster, one pair."""
    times = results["milliseconds"]
    table = []
    for name, found in times.items():
        cells = [name, accuracy(name), f"{multiply_adds(VARIANTS[name]) / 1000:,.0f}"]
        for kind in PRECISIONS:
            own, shipped = found["rank"][kind], times[SHIPPED]["rank"][kind]
            ratios = [other / one for one, other in zip(own, shipped, strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            cells += [f"{min(own):.1f}", f"{middle:.1f} ({low:.1f}–{high:.1f})"]
        cells.append(f"{min(found['pair']['int8']):.2f}")
        table.append(cells)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--append", action="store_true", help="keep the rounds that are there")
    parser.add_argument("--report", action="store_true", help="print what was measured before")
    options = parser.parse_args()
    if not options.report:
        results = measured(options)
        if options.append:
            earlier = json.loads(options.output.read_text(encoding="utf-8"))
            results = appended(earlier, results)
        write_json(options.output, results)
    results = json.loads(options.output.read_text(encoding="utf-8"))
    for cells in rows(results):
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
