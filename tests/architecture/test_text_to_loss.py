"""From text to loss: what `softquery train esim` really runs, and how little of it per batch."""

import subprocess
import sys
from itertools import count

import pytest
from repository import PACKAGE
from traced_files import run_command, traced_files

pytest.importorskip("torch", reason="a loss needs the extra [train]")

ROAD = (
    "data/pairs.py",
    "data/tokens.py",
    "models/esim.py",
    "nn/embedding.py",
    "nn/recurrent.py",
    "attention/attend.py",
    "tasks/match.py",
)
"""Files that run for every batch, from its rows to its loss; the loop around them aside."""
MOST_ON_THE_ROAD = 7
MOST_OTHERS = 40
LOOP = "training/steps.py"
SMALL = ("model.hidden_size=4", "model.embedding_size=4", "data.batch_size=8",
         "training.max_steps=3")  # fmt: skip


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("esim")
    lines = [
        f"a man eats {number}\t{'someone' if number % 2 else 'nobody'} eats\t{number % 2}"
        for number in range(60)
    ]
    for split, some in (("train", lines[:48]), ("dev", lines[48:])):
        text = "\n".join(["sentence1\tsentence2\tlabel", *some])
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    numbers = count()
    settings = [word for setting in SMALL for word in ("--set", setting)]

    def train() -> None:
        output = folder / f"model-{next(numbers)}"
        run_command("train", "esim", "--data", folder, "--output", output, *settings)

    return traced_files(train)


def test_the_road_of_a_batch_is_short(traced):
    assert traced.num_spans == 3
    assert traced.in_every_span - {LOOP} == set(ROAD)
    assert len(ROAD) <= MOST_ON_THE_ROAD


def test_few_files_run_at_all(traced):
    others = traced.ran - set(ROAD)
    assert len(others) <= MOST_OTHERS, sorted(others)
    assert {"recipes/match.py", "text/pipeline.py", *ROAD} <= traced.ran


def test_what_runs_is_what_is_there(traced):
    assert [file for file in traced.ran if not (PACKAGE / file).is_file()] == []


def test_esim_pulls_in_only_what_lies_below_models():
    command = "import softquery.models.esim, sys; print(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    names = [name.split(".") for name in result.stdout.split()]
    layers = {parts[1] for parts in names if parts[0] == "softquery" and len(parts) > 1}
    assert layers >= {"models", "data", "nn", "attention"}
    below = {"data", "nn", "decoding", "answers", "attention", "text", "files", "atomic",
             "numpy_softmax", "errors"}  # fmt: skip
    assert layers <= {"models", *below}
