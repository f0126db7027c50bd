"""What a window saves on long texts: time of an encoder against the length of its text, on a CPU.

    OMP_NUM_THREADS=1 python benchmarks theory windows

An encoder of bert-mini's sizes (4 layers of 256, 4 heads) with random weights reads one text of N
pieces: with attention to all, and with windows of 32 and 128 pieces to either side. The three take
turns, several rounds per length, and the median of each is kept. Times are the thread's own on one
core, so that waiting for other processes does not count; only ratios mean something. Written to
`windows.json`: every time of every round.
"""

import argparse
import json
import os
import platform
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from softquery.data import Tokens
from softquery.models import Bert
from softquery.models.bert import presets

HERE = Path(__file__).parent
LENGTHS = (128, 256, 512, 1024, 2048, 4096)
WINDOWS = (0, 32, 128)
"""Pieces to either side; 0 for all."""
NUM_PIECES = 1000


def encoders() -> dict[int, Bert]:
    """By window, with the same weights."""
    config = replace(
        presets()["mini"], vocab_size=NUM_PIECES, max_length=max(LENGTHS), heads="none"
    )
    made = {window: Bert(replace(config, window=window)).eval() for window in WINDOWS}
    for encoder in made.values():
        encoder.load_state_dict(made[0].state_dict())
    return made


def measure(rounds: int) -> list[dict[str, Any]]:
    """A row for each window and length."""
    made, rows = encoders(), []
    for length in LENGTHS:
        ids = torch.randint(5, NUM_PIECES, (1, length))
        text = Tokens(ids, torch.ones_like(ids, dtype=torch.bool))
        times: dict[int, list[float]] = {window: [] for window in WINDOWS}
        for turn in range(rounds + 1):
            for window, encoder in made.items():
                start = time.thread_time()
                encoder.encode(text)
                if turn:  # the first round warms up
                    times[window].append(1000 * (time.thread_time() - start))
        rows += [
            {
                "window": window,
                "length": length,
                "ms": round(statistics.median(taken), 3),
                "rounds_ms": [round(each, 3) for each in taken],
            }
            for window, taken in times.items()
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE / "windows.json")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with torch.inference_mode():
        rows = measure(options.rounds)
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "torch": torch.__version__}
    facts = {"seed": 1, "threads": 1, **machine, "load": round(os.getloadavg()[0], 1)}
    options.output.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n", "utf-8")
    at = {(row["window"], row["length"]): row["ms"] for row in rows}
    print("| pieces | all, ms | window 128, ms | window 32, ms | 128 / all | 32 / all |")
    print("|---|---|---|---|---|---|")
    for length in LENGTHS:
        all_pairs, wide, narrow = (at[window, length] for window in (0, 128, 32))
        shares = f"{wide / all_pairs:.2f} | {narrow / all_pairs:.2f}"
        print(f"| {length:,} | {all_pairs:.1f} | {wide:.1f} | {narrow:.1f} | {shares} |")


if __name__ == "__main__":
    main()
