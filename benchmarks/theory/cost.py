"""How time grows with the length of a text: recurrence, convolution and attention on a CPU.

    OMP_NUM_THREADS=1 python benchmarks theory cost

One layer of each, D wide, reads one text of N random vectors, forwards only, without gradients: a
plain recurrence (torch's RNN, N steps of two D × D products), a convolution over three neighbours,
and `softquery.attention.attend` with the scaled dot product and no projections. The three take
turns, several rounds per size, and the median of each is kept. Times are the thread's own on one
core, so that waiting for other processes does not count; only ratios mean something. Written to
`cost.json`: every time of every round.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softquery.attention import attend, scaled_dot

HERE = Path(__file__).parent
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
WIDTHS = (64, 256)
WIDTH_OF_CONVOLUTION = 3


def layers(width: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """Each layer as a function of a text [1, N, D]."""
    recurrence = nn.RNN(width, width, batch_first=True)
    convolution = nn.Conv1d(width, width, WIDTH_OF_CONVOLUTION, padding="same")
    return {
        "recurrence": lambda text: recurrence(text)[0],
        "convolution": lambda text: convolution(text.transpose(1, 2)),
        "attention": lambda text: attend(text, text, text, score=scaled_dot).mixed,
    }


def multiplications(name: str, length: int, width: int) -> int:
    """Products of numbers that a layer takes."""
    counts = {
        "recurrence": 2 * length * width**2,
        "convolution": WIDTH_OF_CONVOLUTION * length * width**2,
        "attention": 2 * length**2 * width,
    }
    return counts[name]


def measure(rounds: int) -> list[dict[str, Any]]:
    """A row for each layer, width and length."""
    rows = []
    for width in WIDTHS:
        made = layers(width)
        for length in LENGTHS:
            text = torch.randn(1, length, width)
            times: dict[str, list[float]] = {name: [] for name in made}
            for turn in range(rounds + 1):
                for name, layer in made.items():
                    start = time.thread_time()
                    layer(text)
                    if turn:  # the first round warms up
                        times[name].append(1000 * (time.thread_time() - start))
            rows += [
                {
                    "layer": name,
                    "length": length,
                    "width": width,
                    "multiplications": multiplications(name, length, width),
                    "ms": round(statistics.median(taken), 4),
                    "rounds_ms": [round(each, 4) for each in taken],
                }
                for name, taken in times.items()
            ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE / "cost.json")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with torch.inference_mode():
        rows = measure(options.rounds)
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "torch": torch.__version__}
    facts = {"seed": 1, "threads": 1, **machine, "load": round(os.getloadavg()[0], 1)}
    options.output.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", "utf-8")
    at = {(row["layer"], row["width"], row["length"]): row["ms"] for row in rows}
    print("| width | length | attention / recurrence | attention / convolution |")
    print("|---|---|---|---|")
    for width in WIDTHS:
        for length in LENGTHS:
            ours = at["attention", width, length]
            others = (at[name, width, length] for name in ("recurrence", "convolution"))
            print(f"| {width} | {length} | {' | '.join(f'{ours / o:.2f}' for o in others)} |")


if __name__ == "__main__":
    main()
