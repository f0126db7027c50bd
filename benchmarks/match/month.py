"""What a month of traffic takes on two cores: machines and energy, by the times of `match.json`.

    python benchmarks match month --rate 10 --load 0.5 --watts 10

Measures nothing: it multiplies what `softquery bench match` has measured, all in int8 by ONNX
Runtime. A machine is two cores; `--load` is the share of its time that it may be busy, so that
nobody queues for long; `--watts` is what a busy core draws, a guess that drops out of every ratio.
"""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
WHO = {
    "softquery nli-en int8": "`nli-en` (ESIM)",
    "minilm-l6 onnx int8": "MiniLM-L6",
    "bert-base onnx int8": "BERT-base",
}
MONTH = 30 * 24 * 3600
CORES = 2
PAIRS, BATCH, MILLION = 100, 32, 1_000_000


def measured() -> dict[str, dict[str, float]]:
    """The rows of the contestants that run in int8 by ONNX Runtime."""
    rows = json.loads((HERE / "match.json").read_text(encoding="utf-8"))["rows"]
    return {told: rows[name] for name, told in WHO.items()}


def times(seconds: float, ours: float) -> str:
    return "" if seconds == ours else f" ({seconds / ours:.1f} ×)"


def speeds() -> Iterator[str]:
    """Milliseconds and memory, with how many times ours."""
    rows = measured()
    ours = next(iter(rows.values()))
    yield f"| int8, ONNX Runtime | one pair, ms | rank {PAIRS}, ms | memory, MB | start, s |"
    yield "|---|---|---|---|---|"
    for name, row in rows.items():
        cells = [
            f"{1000 * row[each]:,.{digits}f}{times(row[each], ours[each])}"
            for each, digits in (("pair_s", 2), ("rank100_s", 0))
        ]
        yield f"| {name} | {' | '.join(cells)} | {row['peak_mb']:.0f} | {row['startup_s']:.2f} |"


def months(rate: float, load: float, watts: float) -> Iterator[str]:
    """Queries that a machine answers in a month, machines for a rate, and energy."""
    yield (
        f"| | queries a month, one machine | machines for {rate:g} queries a second | "
        "kWh a month for these queries | Wh for a million pairs |"
    )
    yield "|---|---|---|---|---|"
    for name, row in measured().items():
        query = row["rank100_s"]
        most = load * MONTH / query / MILLION
        machines = math.ceil(rate * query / load)
        joules = CORES * watts * query * rate * MONTH
        pairs = CORES * watts * row["batch32_s"] * MILLION / BATCH
        yield (
            f"| {name} | {most:.1f} million | {machines} | {joules / 3.6e6:.1f} | "
            f"{pairs / 3600:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", type=float, default=10, help="queries a second")
    parser.add_argument("--load", type=float, default=0.5, help="share of time a machine is busy")
    parser.add_argument("--watts", type=float, default=10, help="of a busy core")
    options = parser.parse_args()
    print(*speeds(), "", *months(options.rate, options.load, options.watts), sep="\n")


if __name__ == "__main__":
    main()
