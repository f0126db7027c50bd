r"""The same tasks by word vectors, ELMo, our BERT and MiniLM: one table, one figure.

    python benchmarks compare --bundle "sst2/ELMo=FOLDER" --bundle "sst2/our BERT=FOLDER" \
        --output docs/measured/compare_tasks.png --markdown compare.md \
        --json benchmarks/compare/compare.json --trained-on "sst2/ELMo=one core"

Accuracy or F1 on dev and the seconds of training come from the rows that other benchmarks left in
their folders; of a variant that was run anew, those with its last settings. Parameters and the time
that one text takes come from bundles, asked in turn in this very run, without torch, on two
threads; give the bundle of one of the seeds whose rows are there, exported or not. What a bundle
says of itself stands in where there are no rows. What has neither is left out.

With `--sizes-only`, bundles stand for sizes and time alone, as those of `timing_bundles.py` do:
what they say of themselves is not looked at, one that has no rows is left out, and the page tells
how they were made.

Rows do not say on which machine they were trained: `--trained-on` says it of those that were not
trained where the others were.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.compare.compare_page import (
    TASKS,
    THREADS,
    WAYS,
    Measured,
    draw,
    machine,
    page,
    table,
)
from benchmarks.shared.side_by_side import read_rows

from softquery.bundle import Bundle, read_bundle
from softquery.errors import ConfigError, SoftqueryError
from softquery.runtime import load
from softquery.runtime.base_bundle import open_base
from softquery.runtime.graph_weights import SCALE

HERE = Path(__file__).parent
ROUNDS = 5
TEXTS = (
    "A quiet film that grows on you.",
    "Peter Smith of Reuters met officials of the European Union in Geneva on Tuesday.",
    "The plot is thin, the jokes are old, and nobody on the screen seems to care.",
    "Two men in yellow vests are repairing a street in front of a shop.",
    "Rarely has so much talent been spent on a story as small and as tired as this one is.",
    "It works.",
)
QUESTION = "Who met officials of the European Union?"


def rows_of(path: Path) -> list[dict[str, Any]]:
    """A file of results, as lines or as an object whose keys end in the seed; none without it."""
    if not path.is_file():
        return []
    if path.suffix == ".jsonl":
        return [row for row in read_rows(path) if row.get("share", 1.0) == 1.0]
    found = json.loads(path.read_text(encoding="utf-8"))
    keys = {key: re.fullmatch(r"(.+)-seed-(\d+)", key) for key in found}
    return [
        {"name": parts[1], "seed": int(parts[2]), **found[key]}
        for key, parts in keys.items()
        if parts
    ]


def from_rows(task: str, way: str, rows: Iterable[dict[str, Any]], name: str) -> Measured | None:
    """What the rows of a variant say, those of its last settings; None where there are none."""
    some = [row for row in rows if row["name"] == name]
    if not some:
        return None
    last = chosen(some[-1])
    seeds = {row["seed"]: row for row in some if chosen(row) == last}
    return Measured(
        task,
        way,
        dev=[row["dev"][TASKS[task].metric] for row in seeds.values()],
        seconds=statistics.mean(row["training"]["seconds"] for row in seeds.values()),
    )


def chosen(row: dict[str, Any]) -> list[str]:
    """The settings of a row, the seed aside."""
    return [each for each in row.get("settings", []) if not each.startswith("training.seed=")]


def from_results(folder: Path) -> dict[tuple[str, str], Measured]:
    """Everything that has been measured, by task and way."""
    files = {file for places in WAYS.values() for file, _ in places.values()}
    rows = {file: rows_of(folder / file) for file in files}
    found = {}
    for task in TASKS:
        for way, places in WAYS.items():
            file, name = places[task]
            made = from_rows(task, way, rows[file], name)
            if made is not None:
                found[task, way] = made
    return found


def num_parameters(bundle: Bundle) -> int:
    """Numbers that were learnt, those of a base among them."""
    base = open_base(bundle)
    own = {name: v for name, v in bundle.read_weights().items() if not name.endswith(SCALE)}
    below = {} if base is None else base[1]
    return sum(values.size for values in (*own.values(), *below.values()))


def asked(kind: str, turn: int) -> list[Any]:
    """The texts as a kind of model takes them; no two turns have the same, which would be kept.

    A question is asked of all of them in a row, which is about as long as a paragraph of SQuAD.
    """
    texts = [f"{text[:-1]}, and that {turn} times." for text in TEXTS]
    if kind == "matcher":
        return list(zip(texts, texts[::-1], strict=True))
    if kind == "reader":
        places = range(len(texts))
        return [(QUESTION, " ".join(texts[place:] + texts[:place])) for place in places]
    return texts


def latencies(bundles: Sequence[Bundle], rounds: int) -> list[float]:
    """Milliseconds that one text takes each model: the median of rounds in which all take turns."""
    models = [load(bundle.path, backend="onnx", threads=THREADS) for bundle in bundles]
    times: list[list[float]] = [[] for _ in models]
    for turn in range(rounds + 1):  # the first one warms up, and is not counted
        for model, bundle, found in zip(models, bundles, times, strict=True):
            for text in asked(bundle.config.kind, turn):
                began = time.perf_counter()
                model.predict([text])
                if turn:
                    found.append(1000 * (time.perf_counter() - began))
    return [statistics.median(found) for found in times]


def exported(bundle: Bundle, scratch: Path) -> Bundle:
    """The bundle, or its export to a place that is given; in another process, which needs torch."""
    if bundle.is_exported:
        return bundle
    target = scratch / f"{len(list(scratch.iterdir()))}-{bundle.path.name}"
    command = ["export", str(bundle.path), "--output", str(target)]
    done = subprocess.run([sys.executable, "-m", "softquery", *command], capture_output=True,
                          text=True)  # fmt: skip
    if done.returncode:
        lines = done.stderr.splitlines() or ["no reason given"]
        raise ConfigError(f"{bundle.path}: cannot be exported ({lines[-1]})")
    return read_bundle(target)


def opened(given: dict[tuple[str, str], Path]) -> dict[tuple[str, str], Bundle]:
    """Every bundle; one of another kind than its task is refused."""
    bundles = {key: read_bundle(path) for key, path in given.items()}
    for (task, _), bundle in bundles.items():
        kind = TASKS[task].kind
        if bundle.config.kind != kind:
            found = f"found kind {bundle.config.kind!r}"
            raise ConfigError(f"{bundle.path}: expected a {kind} for {task}, {found}")
    return bundles


def with_bundles(
    found: dict[tuple[str, str], Measured],
    given: dict[tuple[str, str], Path],
    rounds: int,
    *,
    sizes_only: bool = False,
) -> list[Measured]:
    """Results with what their bundles add, in the order of the tables above.

    Args:
        found: What the rows say.
        given: Bundles.
        rounds: In which they are asked.
        sizes_only: Whether a bundle is no run of its own, and adds to rows alone.
    """
    rows = dict(found)
    given = with_rows(found, given) if sizes_only else given
    bundles = opened(given)
    for key, bundle in bundles.items():
        known = found[key] if sizes_only else of_the_run(found.get(key), *key, bundle)
        rows[key] = sized(known, bundle)
    with tempfile.TemporaryDirectory() as scratch:
        graphs = [exported(bundle, Path(scratch)) for bundle in bundles.values()]
        speeds = latencies(graphs, rounds)
    for key, speed in zip(bundles, speeds, strict=True):
        rows[key] = replace(rows[key], milliseconds=speed)
    order = [(task, way) for task in TASKS for way in WAYS]
    return [rows[key] for key in order if key in rows]


def with_rows(
    found: dict[tuple[str, str], Measured], given: dict[tuple[str, str], Path]
) -> dict[tuple[str, str], Path]:
    """The bundles of what has been measured; the others are told."""
    for task, way in given:
        if (task, way) not in found:
            print(f"{task} by {way} has no rows yet: left out", file=sys.stderr)
    return {key: path for key, path in given.items() if key in found}


def of_the_run(known: Measured | None, task: str, way: str, bundle: Bundle) -> Measured:
    """The rows there are, which a bundle should be one of, or what it says where there are none."""
    own = own_figure(bundle, TASKS[task].metric)
    if known is None:
        if own is None:
            raise ConfigError(f"{bundle.path}: metrics.json has no {TASKS[task].metric} on dev")
        return Measured(task, way, [own], bundle.metrics.get("training", {}).get("seconds"))
    if own is not None and not any(abs(own - each) < 1e-6 for each in known.dev):
        print(f"{bundle.path}: {task} by {way} was {100 * own:.2f} on dev, which no row has: "
              "parameters and time may be another model's", file=sys.stderr)  # fmt: skip
    return known


def sized(known: Measured, bundle: Bundle) -> Measured:
    """Rows with the size of a bundle, as it is given: an export may fold some weights."""
    precision = bundle.metrics.get("export", {}).get("precision", "float32")
    return replace(known, parameters=num_parameters(bundle), precision=precision)


def own_figure(bundle: Bundle, metric: str) -> float | None:
    """What a bundle says of itself, if it does."""
    found = bundle.metrics.get("dev", {}).get(metric)
    return float(found) if isinstance(found, (int, float)) else None


def placed(text: str) -> tuple[tuple[str, str], str]:
    """TASK/WAY=WORDS, such as the folder of a bundle."""
    key, _, words = text.partition("=")
    task, _, way = key.partition("/")
    if task not in TASKS or way not in WAYS or not words:
        known = f"TASK one of {', '.join(TASKS)}, WAY one of {', '.join(WAYS)}"
        raise argparse.ArgumentTypeError(f"expected TASK/WAY=FOLDER, {known}; got {text!r}")
    return (task, way), words


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bundle", type=placed, action="append", default=[],
                        metavar="TASK/WAY=FOLDER")  # fmt: skip
    parser.add_argument("--sizes-only", action="store_true",
                        help="bundles are as large as trained ones, no more")  # fmt: skip
    parser.add_argument("--trained-on", type=placed, action="append", default=[],
                        metavar="TASK/WAY=MACHINE")  # fmt: skip
    parser.add_argument("--results", type=Path, default=HERE.parent)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=HERE / "compare.png")
    parser.add_argument("--markdown", type=Path, help="the table and what it means as a file")
    parser.add_argument("--json", type=Path, help="the figures as a file, too")
    return parser.parse_args()


def main() -> int:
    options = parsed()
    given = {key: Path(folder) for key, folder in options.bundle}
    machines = dict(options.trained_on)
    try:
        found = from_results(options.results)
        rows = with_bundles(found, given, options.rounds, sizes_only=options.sizes_only)
        if not rows:
            raise ConfigError(f"{options.results}: no results, and no bundle was given")
    except SoftqueryError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    rows = [replace(row, trained_on=machines.get((row.task, row.way))) for row in rows]
    print(table(rows))
    picture = options.output if draw(rows, options.output) else None
    if options.markdown is not None:
        num_words = len(asked("reader", 1)[0][1].split())
        folder = options.markdown.resolve().parent
        text = page(rows, picture, folder, num_words, sizes_only=options.sizes_only)
        options.markdown.write_text(text, encoding="utf-8")
    if options.json is not None:
        plain = {"machine": machine(), "sizes_only": options.sizes_only,
                 "rows": [asdict(row) for row in rows]}  # fmt: skip
        options.json.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
