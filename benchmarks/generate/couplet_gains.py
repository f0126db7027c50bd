"""What attention is worth to couplets: ratios of perplexity between recipes, with intervals.

    python benchmarks generate couplet_gains --data DATA --work RUNS
    python benchmarks generate couplet_gains

The second prints the tables of `couplets.md` from what the first wrote and from the runs' rows.
DATA is what `couplets prepare` wrote, RUNS where `couplets train --without-verses` left its
bundles. Every bundle says how likely each true lower line of dev is; a ratio compares two of the
same seed on the same couplets. Intervals are of 2,000 draws of couplets, the same for both
(paired), seed 0; they tell nothing of other seeds. Written to `couplet_gains.json`, with the
number of each recipe's weights.
"""

import argparse
import csv
import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.generate.couplet_rules import RULES
from benchmarks.generate.couplets import ARCHITECTURES
from benchmarks.shared.side_by_side import read_rows
from numpy.typing import NDArray

from softquery.bundle import read_bundle
from softquery.runtime.generate.model import load_generator

HERE = Path(__file__).parent
RESULTS = HERE / "couplet_gains.json"
ROWS = HERE / "couplets_narrow.jsonl"
"""Of `couplets train --without-verses --narrow`."""
COMPARED = [
    (of, over)
    for of in ("couplet-bahdanau", "couplet-luong")
    for over in ("couplet-rnn", "couplet-rnn-every-step", "couplet-zh")
]
"""Each recipe with attention, against those without it and against the Transformer."""
NUM_DRAWS = 2000
BATCH = 128
Floats = NDArray[np.float64]


def dev_pairs(path: Path) -> tuple[list[str], list[str]]:
    """Upper lines and lower lines."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["source"] for row in rows], [row["target"] for row in rows]


def likelihoods(bundle: Path, uppers: list[str], lowers: list[str]) -> tuple[Floats, Floats]:
    """Log-likelihood of each lower line, and its characters with the end."""
    model = load_generator(bundle)
    parts = [
        model.log_likelihoods(uppers[start : start + BATCH], lowers[start : start + BATCH])
        for start in range(0, len(uppers), BATCH)
    ]
    found, counts = zip(*parts, strict=True)
    return np.concatenate(found), np.concatenate(counts).astype(np.float64)


def ratio(of: Floats, over: Floats, counts: Floats) -> dict[str, float]:
    """The perplexity of one as a share of another's, with an interval over the couplets."""
    difference = over - of  # of log-likelihoods: below 0 where `of` is the better one
    draw = np.random.default_rng(0)
    places = draw.integers(0, len(counts), (NUM_DRAWS, len(counts)))
    drawn = np.exp(difference[places].sum(axis=1) / counts[places].sum(axis=1))
    low, high = np.quantile(drawn, (0.025, 0.975))
    whole = math.exp(difference.sum() / counts.sum())
    return {name: round(float(each), 4)
            for name, each in (("ratio", whole), ("low", low), ("high", high))}  # fmt: skip


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Perplexities and ratios of every seed whose bundles are there."""
    uppers, lowers = dev_pairs(options.data / "dev.tsv")
    perplexities, gains = [], []
    for seed in range(1, options.seeds + 1):
        found: dict[str, tuple[Floats, Floats]] = {}
        for name in ARCHITECTURES:
            bundle = options.work / f"{name}-seed-{seed}"
            if (bundle / "metrics.json").exists():
                found[name] = likelihoods(bundle, uppers, lowers)
                total, counts = found[name]
                perplexity = round(math.exp(-total.sum() / counts.sum()), 2)
                weights = sum(each.size for each in read_bundle(bundle).read_weights().values())
                perplexities.append(
                    {"name": name, "seed": seed, "perplexity": perplexity, "weights": weights}
                )
        gains += [
            {"of": of, "over": over, "seed": seed, **ratio(found[of][0], found[over][0],
                                                           found[of][1])}
            for of, over in COMPARED if of in found and over in found
        ]  # fmt: skip
    return {"n": len(uppers), "perplexities": perplexities, "gains": gains}


def recipes_table(rows: list[dict[str, Any]], found: dict[str, Any]) -> list[str]:
    """A line of Markdown for each recipe: means over its seeds, of several with their spread."""
    lines = []
    for name in ARCHITECTURES:
        devs = [row["dev"] for row in rows if row["name"] == name]
        if not devs:
            continue
        sizes = [each["weights"] for each in found["perplexities"] if each["name"] == name]
        free = [dev["without_rules"] for dev in devs]
        cells = [
            f"{sizes[0]:,}", str(len(devs)), spread([dev["perplexity"] for dev in devs], 1),
            *(spread([100 * dev[key] for dev in devs], 1)
              for key in ("ranked_first", "ranked_first_by_likelihood")),
            spread([dev["bleu"] for dev in devs], 2),
            *(spread([100 * each[key] for each in free], 1) for key in RULES),
        ]  # fmt: skip
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def gains_table(found: dict[str, Any]) -> list[str]:
    """A line of Markdown for each comparison and seed."""
    return [
        f"| `{row['of']}` | `{row['over']}` | {row['seed']} | {row['ratio']:.3f} "
        f"| {row['low']:.3f} to {row['high']:.3f} |"
        for row in found["gains"]
    ]


def spread(values: list[float], digits: int) -> str:
    """Mean ± standard deviation, or one value."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="what `couplets prepare` wrote")
    parser.add_argument("--work", type=Path, help="with the bundles")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.work is not None and options.data is not None:
        found = measured(options)
        options.output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    found = json.loads(options.output.read_text("utf-8"))
    print("\n".join([*recipes_table(read_rows(ROWS), found), "", *gains_table(found)]))


if __name__ == "__main__":
    main()
