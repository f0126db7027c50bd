"""How long a start and a first answer take, and whether torch came along.

    python benchmarks match startup [--repeats 10] [--json]

Every start is a new process; the interpreter's own start is measured too and shown beside. Medians,
in one run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

STARTS = {
    "python": ["-c", "pass"],
    "import softquery": ["-c", "import softquery"],
    "softquery --help": ["-m", "softquery", "--help"],
    "softquery models": ["-m", "softquery", "models"],
    "first answer": ["-m", "softquery", "match", "A man is eating.", "Someone eats."],
}


def seconds(arguments: Sequence[str], repeats: int) -> list[float]:
    """Wall-clock times of fresh processes; one more start goes before and is not counted."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return times[1:]


def loads_torch(arguments: Sequence[str]) -> bool:
    """Whether a start imports torch, by the interpreter's own report."""
    command = [sys.executable, "-X", "importtime", *arguments]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return any(line.rsplit("|", 1)[-1].strip() == "torch" for line in report.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    results = {}
    for name, arguments in STARTS.items():
        times = seconds(arguments, options.repeats)
        results[name] = {
            "median_seconds": round(statistics.median(times), 4),
            "worst_seconds": round(max(times), 4),
            "loads_torch": loads_torch(arguments),
        }
    if options.json:
        print(json.dumps(results))
        return
    for name, row in results.items():
        torch = "with torch" if row["loads_torch"] else "without torch"
        median, worst = row["median_seconds"], row["worst_seconds"]
        print(f"{name:18} median {median:.3f} s, worst {worst:.3f} s, {torch}")


if __name__ == "__main__":
    main()
