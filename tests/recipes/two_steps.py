"""The losses of a recipe's first two steps on tiny data, small and without dropout.

Dropout is off because processors draw its masks differently. When a change of the losses is meant,
write the new ones, look at them, and say in the commit why they moved:

    python tests/recipes/two_steps.py
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "end_to_end"))

import torch
from tiny_pairs import chinese, english, graded, inference, write_folder

from softquery.recipes import RECIPES, Run, WordRun, override, recipe
from softquery.recipes.execute import train
from softquery.recipes.train_words import train_words
from softquery.tasks import PairGrading

GOLDEN = Path(__file__).with_name("two_steps.json")
SMALL = [
    "model.hidden_size=6",
    "model.embedding_size=5",
    "model.dropout=0",
    "data.batch_size=8",
    "training.max_steps=2",
    "training.log_every=1",
    "training.seed=1",
]


SMALL_WORDS = [
    "model.embedding_size=5",
    "vocabulary.min_count=1",
    "training.engine=numba",
    "training.threads=1",
    "training.epochs=2",
]
"""Of so small a corpus an epoch is a step."""


class Losses:
    """Watches a run and keeps the loss of each step."""

    def __init__(self, total_steps: int) -> None:
        self.total_steps = total_steps
        self.found: list[float] = []

    def begin(self, total_steps: int, done: int) -> None:
        assert (total_steps, done) == (self.total_steps, 0)

    def step(self, done: int, facts: dict[str, float]) -> None:
        self.found.append(facts["loss"])

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        assert improved or number < 2


def small(name: str) -> Run:
    """The recipe at a size for tests."""
    run = override(recipe(name), SMALL)
    return override(run, ["model.embedding_dropout=0"]) if name.startswith("esim") else run


def tiny_data(run: Run, folder: Path) -> Path:
    """Pairs in the recipe's language, with labels of its kind."""
    if isinstance(run.task, PairGrading):
        rows = graded(60)
    elif run.text.unit == "characters":
        rows = chinese(60)
    else:
        rows = english(60) if run.task is None else inference(60)
    return write_folder(folder, rows, num_dev=12)


def first_losses(name: str, folder: Path) -> list[float]:
    """Train two steps and leave the bundle in `folder / "model"`."""
    run = recipe(name)
    if isinstance(run, WordRun):
        return first_word_losses(run, folder)
    run, watcher = small(name), Losses(2)
    data = tiny_data(run, folder / "data")
    train(run, data=data, output=folder / "model", observer=watcher, say=lambda line: None)
    return watcher.found


def first_word_losses(run: WordRun, folder: Path) -> list[float]:
    """The same for word vectors, from the sentences of the tiny pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = english(60)
    sentences = [f"{first} {second}".replace(".", "") for first, second, _ in pairs]
    (folder / "corpus.txt").write_text("\n".join(sentences), encoding="utf-8")
    num_words = sum(len(sentence.split()) for sentence in sentences)
    run, watcher = override(run, SMALL_WORDS), Losses(2 * num_words)
    data = folder / "corpus.txt"
    train_words(run, data=data, output=folder / "model", observer=watcher, say=lambda line: None)
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
