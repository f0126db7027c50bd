"""Eight threads ask one matcher at once: they get what asking one by one gives, in flat memory.

Sentences of 1 to 400 words of the model's own vocabulary, most of them short. Every pair is asked
alone first, then all of them in calls of random size from many threads. Answers may differ by 1e-4
in probability for float32; by 0.02, and in 0.3 % of labels, for int8.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import softquery

Pair = tuple[str, str]
PAIRS = 100_000
THREADS = 8
LONGEST = 400
FLAT = 1.5
"""How much the last tenth may hold of what the third held: ONNX Runtime keeps its longest batch."""


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
    return answers


@pytest.mark.parametrize("model", ["match-en"])
def test_threads_get_what_one_gets(model):
    matcher = softquery.load(model)
    pairs = make_pairs(matcher, PAIRS, LONGEST)
    is_int8 = any(name.endswith(":scale") for name in matcher.bundle.read_weights())
    alone = np.concatenate([matcher.probabilities([pair]) for pair in pairs])
    memory: list[float] = []
    together = ask_from_threads(matcher, pairs, THREADS, memory)
    moved = float((together.argmax(axis=1) != alone.argmax(axis=1)).mean())
    assert np.abs(together - alone).max() <= (0.02 if is_int8 else 1e-4)
    assert moved <= (0.003 if is_int8 else 0)
    assert not memory[-1] > FLAT * memory[2], memory  # not a number where the system does not tell
