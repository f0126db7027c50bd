"""kill -9 at random moments of a bulk run, resumed each time: is the output that of one run?

    python benchmarks/bulk_kill.py MODEL [--pairs 50000] [--kills 20] [--seed 1]

Writes pairs of the model's own words, answers them in one go, then once more while the process is
killed again and again. Exits with 1 where a byte differs.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import softquery


def write_pairs(model: str, path: Path, count: int) -> None:
    draw = random.Random(1)
    words = softquery.load(model).pipeline.vocabulary()
    with path.open("w", encoding="utf-8") as file:
        file.write("sentence1\tsentence2\n")
        for _ in range(count):
            sides = (" ".join(draw.choices(words, k=draw.randint(1, 15))) for _ in range(2))
            file.write("\t".join(sides) + "\n")


def command(model: str, pairs: Path, output: Path) -> list[str]:
    words = ["match", "--model", model, "--pairs", str(pairs), "--output", str(output)]
    return [sys.executable, "-m", "softquery", *words]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        pairs, whole, output = (place / name for name in ("p.tsv", "whole.jsonl", "out.jsonl"))
        partial = Path(f"{output}.partial")
        write_pairs(options.model, pairs, options.pairs)
        start = time.perf_counter()
        subprocess.run(command(options.model, pairs, whole), check=True)
        seconds = time.perf_counter() - start
        for kill in range(options.kills):
            process = subprocess.Popen(command(options.model, pairs, output))
            # Each run gets a random share of the time that is left, its start included.
            time.sleep(draw.uniform(0, 0.5 + 2 * seconds / options.kills))
            process.kill()
            process.wait()
            size = partial.stat().st_size if partial.exists() else 0
            print(f"kill {kill + 1}: {size:,} bytes kept", file=sys.stderr)
        if not output.exists():
            subprocess.run(command(options.model, pairs, output), check=True)
        same = output.read_bytes() == whole.read_bytes()
    print(f"{options.kills} kills, {options.pairs:,} pairs: {'equal' if same else 'DIFFERENT'}")
    sys.exit(int(not same))


if __name__ == "__main__":
    main()
