"""The losses of a recipe's first two steps on tiny data, small and without dropout.

Dropout is off because processors draw its masks differently. When a change of the losses is meant,
write the new ones, look at them, and say in the commit why they moved:

    python tests/recipes/two_steps.py
"""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "end_to_end"))

sys.path.append(str(Path(__file__).resolve().parents[1]))

import torch
from tiny_documents import SMALL as SMALL_DOCUMENTS
from tiny_documents import write_documents
from tiny_pairs import chinese, english, graded, inference, write_folder
from tiny_tags import SMALL as SMALL_TAGS
from tiny_tags import named, parts_of_speech, write_tagged
from tiny_text import SMALL as SMALL_TEXT
from tiny_text import write_text

from small_elmo import write_elmo
from softquery.models import TaggerConfig
from softquery.recipes import (
    RECIPES,
    AnyRun,
    BertRun,
    LanguageRun,
    Run,
    WordRun,
    override,
    recipe,
)
from softquery.recipes.kinds import train
from softquery.tasks import PairClassification, PairGrading

GOLDEN = Path(__file__).with_name("two_steps.json")
TWO_STEPS = ["model.dropout=0", "training.max_steps=2", "training.log_every=1", "training.seed=1"]
SMALL = ["model.hidden_size=6", "model.embedding_size=5", "data.batch_size=8", *TWO_STEPS]
# Samples are drawn differently by processors, too.
LANGUAGE = [*(f"{key}={value}" for key, value in SMALL_TEXT.items()), *TWO_STEPS,
            "model.softmax.kind=full", "training.precision=32-true"]  # fmt: skip
BERT = [*(f"{key}={value}" for key, value in SMALL_DOCUMENTS.items()), *TWO_STEPS,
        "model.num_layers=2"]  # fmt: skip
TAGS = [*(f"{key}={value}" for key, value in SMALL_TAGS.items()), *TWO_STEPS,
        "model.word_dropout=0"]  # fmt: skip
# Of so small a corpus an epoch is a step.
WORDS = ["model.embedding_size=5", "vocabulary.min_count=1", "training.epochs=2",
         "training.engine=numba", "training.threads=1"]  # fmt: skip
SETTINGS: dict[type[AnyRun], list[str]] = {
    Run: SMALL, LanguageRun: LANGUAGE, BertRun: BERT, WordRun: WORDS,
}  # fmt: skip


class Losses:
    """Watches a run and keeps the loss of each step."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def begin(self, total_steps: int, done: int) -> None:
        assert done == 0

    def step(self, done: int, facts: dict[str, float]) -> None:
        self.found.append(facts["loss"])

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None: ...


def small(name: str) -> AnyRun:
    """The recipe at a size for tests."""
    run = recipe(name)
    if isinstance(run.model, TaggerConfig):
        return override(run, TAGS)
    run = override(run, SETTINGS[type(run)])
    return override(run, ["model.embedding_dropout=0"]) if run.model_name() == "esim" else run


def tiny_data(run: AnyRun, folder: Path) -> Path:
    """Text, or pairs in the recipe's language, with labels of its kind."""
    if isinstance(run, LanguageRun):
        return write_text(folder)
    if isinstance(run, BertRun):
        return write_documents(folder)
    if isinstance(run, WordRun):
        return write_sentences(folder)
    if isinstance(run.model, TaggerConfig):
        if run.name == "pos":
            return write_tagged(folder, parts_of_speech(60), ending=".conllu")
        return write_tagged(folder, named(60))
    if isinstance(run.task, PairGrading):
        rows = graded(60)
    elif run.text.unit == "characters":
        rows = chinese(60)
    elif run.task is None or run.task.output_size == 2:
        rows = english(60)
    else:
        rows = inference(60)
    if isinstance(run.task, PairClassification) and run.task.labels == ("0", "1"):
        numbers = {"different": "0", "same": "1"}
        rows = [(one, other, numbers.get(label, label)) for one, other, label in rows]
    written = write_folder(folder, rows, num_dev=12)
    if run.data.tune is not None:
        shutil.copy(written / "dev.tsv", written / "tune.tsv")
    return written


def write_sentences(folder: Path) -> Path:
    """The sentences of the tiny pairs as a corpus."""
    folder.mkdir(parents=True)
    sentences = [f"{one} {other}".replace(".", "") for one, other, _ in english(60)]
    (folder / "corpus.txt").write_text("\n".join(sentences), encoding="utf-8")
    return folder / "corpus.txt"


def first_losses(name: str, folder: Path) -> list[float]:
    """Train two steps and leave the bundle in `folder / "model"`."""
    run, watcher = small(name), Losses()
    if isinstance(run, Run) and run.elmo is not None:
        run = override(run, [f"elmo.bundle={write_elmo(folder / 'elmo')}", "elmo.dropout=0"])
    data = tiny_data(run, folder / "data")
    train(run, data=data, output=folder / "model", observer=watcher, say=lambda line: None)
    return watcher.found


def main() -> None:
    torch.set_num_threads(1)
    golden = {}
    for name in RECIPES:
        with TemporaryDirectory() as folder:
            golden[name] = [round(loss, 6) for loss in first_losses(name, Path(folder))]
    GOLDEN.write_text(json.dumps(golden, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
