"""From text to loss in at most seven places: recipe, text, data, model, nn, attention, task."""

import ast
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest
from repository import PACKAGE

import softquery

pytest.importorskip("torch", reason="a loss needs the extra [train]")

CHAIN = {
    "recipes/match.py": {"models", "tasks", "text"},
    "text/pipeline.py": set(),
    "data/pairs.py": {"text"},
    "models/esim.py": {"data", "nn", "attention"},
    "nn/recurrent.py": set(),
    "attention/attend.py": set(),
    "tasks/match.py": {"data", "models"},
}
"""The files that a reader of ESIM meets, and the links of the chain that each must hold."""


def imported_layers(path: Path) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "module")]
    names = [node.module.split(".") for node in nodes if node.module]
    return {parts[1] for parts in names if parts[0] == "softquery" and len(parts) > 1}


def test_chain_has_seven_files():
    assert len(CHAIN) == 7


@pytest.mark.parametrize(("file", "links"), CHAIN.items())
def test_chain_holds(file, links):
    assert links <= imported_layers(PACKAGE / file)


def test_esim_pulls_in_only_what_lies_below_models():
    command = "import softquery.models.esim, sys; print(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    names = [name.split(".") for name in result.stdout.split()]
    layers = {parts[1] for parts in names if parts[0] == "softquery" and len(parts) > 1}
    assert layers >= {"models", "data", "nn", "attention"}
    below = {"data", "nn", "decoding", "answers", "attention", "text", "files", "atomic", "errors"}
    assert layers <= {"models", *below}


def test_no_other_layer_runs_between_text_and_loss():
    """Count the layers whose code runs, not those that are imported."""
    from softquery.data import encode_pairs
    from softquery.files import read_rows
    from softquery.models import Esim
    from softquery.recipes import override, recipe
    from softquery.text import build_pipeline

    rows = [
        {"sentence1": "a man eats", "sentence2": "someone eats", "label": "entailment"},
        {"sentence1": "a man eats", "sentence2": "nobody eats", "label": "contradiction"},
    ]
    labelled = list(read_rows(rows, columns=("sentence1", "sentence2", "label")))
    texts = [row["sentence1"] + " " + row["sentence2"] for row in rows]

    def text_to_loss() -> float:
        small = ["model.hidden_size=4", "model.embedding_size=4", "model.vocab_size=20"]
        run = override(recipe("esim-snli"), small)
        pipeline = build_pipeline(texts, run.text)
        pairs = encode_pairs(labelled, pipeline, parse_label=run.task.parse_label)
        batch = pairs.batch(pairs.lengths().argsort(), 8)
        return run.task.loss(Esim(run.model)(batch), batch).item()

    loss, layers = layers_that_run(text_to_loss)
    assert 0 < loss < 5
    values_of_a_run = {"training", "answers"}  # read by the recipe and by the task's labels
    assert layers - values_of_a_run == {
        "recipes", "text", "data", "models", "nn", "attention", "tasks"
    }  # fmt: skip


def layers_that_run(action):
    """The result of an action, and the softquery layers whose functions it called."""
    home = str(Path(softquery.__file__).parent)
    layers = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(home):
            layers.add(Path(file).relative_to(home).parts[0])

    sys.setprofile(note)
    try:
        result = action()
    finally:
        sys.setprofile(None)
    return result, layers
