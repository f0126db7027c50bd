"""kill -9 at random moments while sentences are embedded, resumed each time: the same bytes."""

import random
import subprocess
import sys
import time

import pytest

from small_sentence_encoders import make_sentence_encoder, random_sentences
from softquery.bundle import read_bundle
from softquery.export import export_sentence_encoder

LINES = 300_000
KILLS = 12
SEED = 1


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An exported encoder, and lines of which half are the same as another."""
    folder = tmp_path_factory.mktemp("kill")
    plain = make_sentence_encoder(folder / "plain", output_size=128)
    export_sentence_encoder(read_bundle(plain), folder / "model")
    lines = random_sentences(LINES // 2, seed=SEED) * 2
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", ["npy", "npz", "parquet"])
def test_a_run_that_is_killed_again_and_again_writes_what_one_run_writes(form, place):
    def command(name):
        words = ["embed", "lines.txt", "--model", "model", "--output", f"{name}.{form}"]
        return [sys.executable, "-m", "softquery", *words]

    draw = random.Random(SEED)
    whole, output = (place / f"{name}.{form}" for name in ("whole", "out"))
    start = time.perf_counter()
    subprocess.run(command("whole"), check=True, cwd=place)
    seconds = time.perf_counter() - start
    for _ in range(KILLS):
        if output.exists():
            break
        process = subprocess.Popen(command("out"), cwd=place)
        # Each run gets a random share of the time that is left, its start included.
        time.sleep(draw.uniform(0, 0.5 + 2 * seconds / KILLS))
        process.kill()
        process.wait()
    if not output.exists():
        subprocess.run(command("out"), check=True, cwd=place)
    assert output.read_bytes() == whole.read_bytes()
