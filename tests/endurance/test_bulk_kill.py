"""kill -9 at random moments of a bulk run, resumed each time: the output is that of one run."""

import random
import subprocess
import sys
import time
from pathlib import Path

import softquery

MODEL = "match-en"
PAIRS = 50_000
KILLS = 20
SEED = 1


def write_pairs(path: Path) -> None:
    draw = random.Random(SEED)
    words = softquery.load(MODEL).pipeline.vocabulary()
    with path.open("w", encoding="utf-8") as file:
        file.write("sentence1\tsentence2\n")
        for _ in range(PAIRS):
            sides = (" ".join(draw.choices(words, k=draw.randint(1, 15))) for _ in range(2))
            file.write("\t".join(sides) + "\n")


def command(pairs: Path, output: Path) -> list[str]:
    words = ["match", "--model", MODEL, "--pairs", str(pairs), "--output", str(output)]
    return [sys.executable, "-m", "softquery", *words]


def test_a_run_that_is_killed_again_and_again_writes_what_one_run_writes(tmp_path):
    draw = random.Random(SEED)
    pairs, whole, output = (tmp_path / name for name in ("p.tsv", "whole.jsonl", "out.jsonl"))
    write_pairs(pairs)
    start = time.perf_counter()
    subprocess.run(command(pairs, whole), check=True)
    seconds = time.perf_counter() - start
    for _ in range(KILLS):
        process = subprocess.Popen(command(pairs, output))
        # Each run gets a random share of the time that is left, its start included.
        time.sleep(draw.uniform(0, 0.5 + 2 * seconds / KILLS))
        process.kill()
        process.wait()
    if not output.exists():
        subprocess.run(command(pairs, output), check=True)
    assert output.read_bytes() == whole.read_bytes()
