"""Translation: every architecture on Multi30k and Tatoeba, and BLEU against source length.

    python benchmarks generate translate tatoeba --file all.txt.xz --output DIR
    python benchmarks generate translate train --multi30k DIR [--tatoeba-de DIR] [--tatoeba-zh DIR] --jobs 4
    python benchmarks generate translate length --multi30k DIR
    python benchmarks generate translate report

`train` runs every variant with every seed, a few side by side, and adds a row to
`translate.jsonl` as each finishes; runs that stand there already are not run again. `length`
measures the trained bundles by length of the source, into `translate_length.jsonl`. `report`
prints the tables and draws docs/measured/translate_length.png.
"""  # noqa: E501

import argparse
import fnmatch
import lzma
import random
import statistics
from pathlib import Path
from typing import Any

from benchmarks.shared.side_by_side import Planned, add_row, read_rows, train_all

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / "docs" / "measured"
RESULTS = HERE / "translate.jsonl"
LENGTHS = HERE / "translate_length.jsonl"
MULTI30K = ("data.dev=val", "task.steer=bleu", "data.tune_share=0.02")
WANTED = {"de-en-rnn": 20.0, "de-en-bahdanau": 33.0, "de-en-luong": 33.0,
          "de-en-transformer": 41.0, "en-de-transformer": 38.0}  # fmt: skip
"""BLEU by beam that must be reached on `val`, mean of the seeds."""
STUDIED = ("de-en-rnn", "de-en-bahdanau", "de-en-luong", "de-en-transformer")
EDGES = (0, 6, 9, 12, 15, 18, 22, 100)
"""Words of the source, by which BLEU is split."""


def variants(options: argparse.Namespace) -> list[tuple[str, str, Path, tuple[str, ...]]]:
    """Name, recipe, data and settings of every run; long ones first."""
    found = []
    if options.multi30k:
        for one, other in (("de", "en"), ("en", "de"), ("en", "fr")):
            languages = (f"writing.languages={one},{other}",)
            found.append((f"{one}-{other}-transformer", "translate-multi30k",
                          options.multi30k, languages))  # fmt: skip
        languages = (*MULTI30K, "writing.languages=de,en")
        for kind in ("luong", "bahdanau", "rnn"):
            found.append((f"de-en-{kind}", f"translate-{kind}", options.multi30k, languages))
    for name, folder in (("de", options.tatoeba_de), ("zh", options.tatoeba_zh)):
        if folder:
            found.append((f"tatoeba-{name}-en", "translate-tatoeba", folder, ()))
    return found


def train(options: argparse.Namespace) -> None:
    runs = [
        Planned(name=name, recipe=recipe, data=data, seed=seed, settings=settings)
        for seed in range(1, options.seeds + 1)
        for name, recipe, data, settings in variants(options)
        if any(fnmatch.fnmatch(name, only) for only in options.only.split(","))
    ]
    train_all(runs, work=options.work, results=options.results, jobs=options.jobs,
              more=options.set, seconds=options.seconds, show=shown)  # fmt: skip


def shown(row: dict[str, Any]) -> str:
    dev = row["dev"]
    return (
        f"greedy {dev['bleu_greedy']:.2f} beam {dev['bleu']:.2f} chrF {dev['chrf']:.2f} "
        f"perplexity {dev['perplexity']:.3f} best epoch {row['training']['best_epoch']}"
    )


def tatoeba(options: argparse.Namespace) -> None:
    """Tatoeba's list, English first, as train.tsv and dev.tsv into English.

    Sentences that share their English stay together, and what dev holds is left out of train in the
    other language as well, so that dev is new in both.
    """
    opened = lzma.open if options.file.suffix == ".xz" else open
    with opened(options.file, "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file if line.strip()]
    groups = sorted({english for english, _ in pairs})
    random.Random(1).shuffle(groups)
    held = set(groups[: options.dev])
    options.output.mkdir(parents=True, exist_ok=True)
    known = {other for english, other in pairs if english in held}
    for split in ("train", "dev"):
        with (options.output / f"{split}.tsv").open("w", encoding="utf-8") as file:
            file.write("source\ttarget\n")
            if split == "dev":
                rows = [pair for pair in pairs if pair[0] in held]
            else:
                rows = [pair for pair in pairs if pair[0] not in held and pair[1] not in known]
            file.writelines(f"{other}\t{english}\n" for english, other in rows)
        print(f"{split}: {len(rows):,} pairs")


def length(options: argparse.Namespace) -> None:
    """BLEU of the trained bundles by words of the source."""
    import softquery as sq
    from softquery.files import read_aligned
    from softquery.measure import bleu_counts, bleu_of_counts

    rows, _ = read_aligned(options.multi30k, "val", ("de", "en"))
    sources, targets = ([row.values[side] for row in rows] for side in ("source", "target"))
    done = {(row["name"], row["seed"]) for row in read_rows(options.lengths)}
    for row in read_rows(options.results):
        name, seed = row["name"], row["seed"]
        bundle = options.work / f"{name}-seed-{seed}"
        if name not in STUDIED or (name, seed) in done or not bundle.exists():
            continue
        texts = [answer.text for answer in sq.load(bundle).predict(sources)]
        counts = bleu_counts(texts, targets)
        words = [len(source.split()) for source in sources]
        parts = []
        for low, high in zip(EDGES, EDGES[1:], strict=False):
            places = [place for place, count in enumerate(words) if low < count <= high]
            if places:
                parts.append({"from": low + 1, "to": high, "n": len(places),
                              "bleu": bleu_of_counts(counts[places])})  # fmt: skip
        add_row(options.lengths, {"name": name, "seed": seed, "parts": parts})
        print(name, seed, [round(part["bleu"], 1) for part in parts], flush=True)


def report(options: argparse.Namespace) -> None:
    rows = read_rows(options.results)
    print("| run | seeds | greedy | beam 5 | chrF | perplexity | wanted |\n" + "| --- " * 7 + "|")
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = [row for row in rows if row["name"] == name]
        devs, seeds = [row["dev"] for row in mine], ", ".join(str(row["seed"]) for row in mine)
        cells = [spread([dev[key] for dev in devs])
                 for key in ("bleu_greedy", "bleu", "chrf", "perplexity")]  # fmt: skip
        wanted = f"≥ {WANTED[name]:g}" if name in WANTED else ""
        print(f"| {name} | {seeds} | {' | '.join(cells)} | {wanted} |")
    for signature in sorted({row["dev"].get("bleu_signature", "") for row in rows}):
        print(f"\nsacrebleu: `{signature}`")
    if options.lengths.exists():
        draw_lengths(read_rows(options.lengths), FIGURES / "translate_length.png")


def spread(values: list[float]) -> str:
    mean = statistics.mean(values)
    return f"{mean:.2f} ± {statistics.stdev(values):.2f}" if len(values) > 1 else f"{mean:.2f}"


def draw_lengths(rows: list[dict[str, Any]], path: Path) -> None:
    """One line for each architecture, mean of its seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.add_subplot()
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = [row["parts"] for row in rows if row["name"] == name]
        means = [
            statistics.mean(part["bleu"] for part in parts) for parts in zip(*mine, strict=True)
        ]
        axes.plot(range(len(means)), means, marker="o", label=name.removeprefix("de-en-"))
    parts = rows[0]["parts"]
    ends = [f"{part['from']}–{part['to']}" if part["to"] < EDGES[-1] else f"{part['from']} on"
            for part in parts]  # fmt: skip
    axes.set_xticks(range(len(ends)), ends)
    axes.set_xlabel("words of the German sentence")
    axes.set_ylabel("BLEU (13a, cased, beam 5)")
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"drawn: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("tatoeba", "train", "length", "report"))
    parser.add_argument("--multi30k", type=Path)
    parser.add_argument("--tatoeba-de", type=Path)
    parser.add_argument("--tatoeba-zh", type=Path)
    parser.add_argument("--file", type=Path, help="for tatoeba: the list")
    parser.add_argument("--output", type=Path, help="for tatoeba: a folder")
    parser.add_argument("--dev", type=int, default=2000, help="for tatoeba: English sentences")
    parser.add_argument("--work", type=Path, default=Path("translate_runs"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--lengths", type=Path, default=LENGTHS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="*", help="names of runs, such as 'de-en-*,en-fr-*'")
    parser.add_argument("--seconds", type=float, help="for train: stop then, to be gone on with")
    parser.add_argument("--set", action="append", default=[], help="a further setting")
    options = parser.parse_args()
    {"tatoeba": tatoeba, "train": train, "length": length, "report": report}[options.what](options)


if __name__ == "__main__":
    main()
