"""Eight threads ask one matcher at once; do they get what asking one by one gives, in flat memory?

    python benchmarks/stress.py MODEL [--pairs 100000] [--threads 8] [--longest 400] [--json]

Sentences of 1 to 400 words of the model's own vocabulary, most of them short. Every pair is asked
alone first, then all of them in calls of random size from many threads. Resident memory is printed
along the way. Exits with 1 where an answer lies outside the bounds: 1e-4 in probability for
float32; 0.02 and 0.3 % of labels for int8.
"""

import argparse
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import softquery

Pair = tuple[str, str]


def make_pairs(matcher: softquery.Matcher, count: int, longest: int) -> list[Pair]:
    draw = random.Random(1)
    words = matcher.pipeline.vocabulary()
    # A tenth of the sentences are of any length, the others as people write them.
    lengths = [
        [draw.randint(1, longest if draw.random() < 0.1 else 20) for _ in range(2)]
        for _ in range(count)
    ]
    return [
        (" ".join(draw.choices(words, k=first)), " ".join(draw.choices(words, k=second)))
        for first, second in lengths
    ]


def resident_megabytes() -> float:
    """What the process holds now, where the system tells."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4096 / 1e6 if path.exists() else float("nan")


def ask_from_threads(
    matcher: softquery.Matcher, pairs: list[Pair], threads: int, memory: list[float]
) -> NDArray[np.float64]:
    draw = random.Random(2)
    order = draw.sample(range(len(pairs)), len(pairs))
    calls = []
    while order:
        size = draw.choice([1, 2, 8, 32, 100])
        calls.append(order[:size])
        order = order[size:]
    answers = np.empty((len(pairs), max(1, len(matcher.labels))))

    def ask(call: list[int]) -> None:
        answers[call] = matcher.probabilities([pairs[place] for place in call])
        if draw.random() < 0.05:
            matcher.rank(pairs[call[0]][0], [pairs[place][1] for place in call])

    with ThreadPoolExecutor(threads) as pool:
        for place, _ in enumerate(pool.map(ask, calls)):
            if place % max(1, len(calls) // 10) == 0:
                memory.append(resident_megabytes())
                print(f"{place / len(calls):4.0%}  {memory[-1]:.0f} MB", file=sys.stderr)
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--longest", type=int, default=400)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    matcher = softquery.load(options.model)
    pairs = make_pairs(matcher, options.pairs, options.longest)
    is_int8 = any(name.endswith(":scale") for name in matcher.bundle.read_weights())
    start = time.perf_counter()
    alone = np.concatenate([matcher.probabilities([pair]) for pair in pairs])
    alone_seconds = time.perf_counter() - start
    memory: list[float] = [resident_megabytes()]
    start = time.perf_counter()
    together = ask_from_threads(matcher, pairs, options.threads, memory)
    distance = float(np.abs(together - alone).max())
    moved = float((together.argmax(axis=1) != alone.argmax(axis=1)).mean())
    result = {
        "pairs": len(pairs),
        "precision": "int8" if is_int8 else "float32",
        "largest_difference": distance,
        "labels_moved": moved,
        "seconds_alone": round(alone_seconds, 1),
        "seconds_from_threads": round(time.perf_counter() - start, 1),
        "megabytes": [round(each) for each in memory],
    }
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    bound = 0.02 if is_int8 else 1e-4
    sys.exit(int(distance > bound or moved > (0.003 if is_int8 else 0)))


if __name__ == "__main__":
    main()
