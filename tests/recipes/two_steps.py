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
from tiny_bert import SMALL as SMALL_HEADS
from tiny_documents import SMALL as SMALL_DOCUMENTS
from tiny_documents import write_documents
from tiny_generation import couplets, german, small_settings, write_aligned
from tiny_generation import write_folder as write_writing
from tiny_pairs import chinese, english, graded, inference, write_folder
from tiny_questions import SMALL as SMALL_QUESTIONS
from tiny_questions import chinese as chinese_questions
from tiny_questions import english as english_questions
from tiny_questions import write_questions
from tiny_tags import SMALL as SMALL_TAGS
from tiny_tags import named, parts_of_speech, write_tagged
from tiny_text import SMALL as SMALL_TEXT
from tiny_text import write_text
from tiny_texts import relations, reviews, write_texts

from small_elmo import write_elmo
from softquery.models import (
    AttentiveConfig,
    BertClassifierConfig,
    BertReaderConfig,
    BertTaggerConfig,
    BiDafConfig,
    BiLstmTaggerConfig,
    HierarchicalConfig,
)
from softquery.recipes import (
    RECIPES,
    WITHOUT_TORCH,
    AnyRun,
    BertRun,
    ElmoRun,
    Run,
    Word2VecRun,
    override,
    recipe,
)
from softquery.running.run_options import RunOptions
from softquery.running.train import train
from softquery.tasks import Generation, PairClassification, PairGrading

GOLDEN = Path(__file__).with_name("two_steps.json")
TWO_STEPS = ["model.dropout=0", "training.max_steps=2", "training.log_every=1", "training.seed=1"]
SMALL = ["model.hidden_size=6", "model.embedding_size=5", "data.batch_size=8", *TWO_STEPS]
# Samples are drawn differently by processors, too.
LANGUAGE = [*(f"{key}={value}" for key, value in SMALL_TEXT.items()), *TWO_STEPS,
            "model.softmax.kind=full", "training.precision=32-true"]  # fmt: skip
# The recipe's own layers, rate and share of pieces stay, for by these the sizes of BERT differ.
BERT = [*(f"{key}={value}" for key, value in SMALL_DOCUMENTS.items() if key != "optim.lr"),
        *TWO_STEPS]  # fmt: skip
PIECES_BY = 40
"""How many times fewer pieces such small text is given."""
TAGS = [*(f"{key}={value}" for key, value in SMALL_TAGS.items()), *TWO_STEPS,
        "model.word_dropout=0"]  # fmt: skip
QUESTIONS = [*(f"{key}={value}" for key, value in SMALL_QUESTIONS.items()), *TWO_STEPS,
             "model.word_dropout=0"]  # fmt: skip
HEADS = [*(f"{key}={value}" for key, value in SMALL_HEADS.items()), *TWO_STEPS,
         "bert.weights=random"]  # fmt: skip
# Of so small a corpus an epoch is a step.
WORDS = ["model.embedding_size=5", "vocabulary.min_count=1", "training.epochs=2",
         "training.engine=numba", "training.threads=1"]  # fmt: skip
SETTINGS: dict[type[AnyRun], list[str]] = {
    Run: SMALL, ElmoRun: LANGUAGE, Word2VecRun: WORDS,
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
    if isinstance(run, Run) and run.bert is not None:
        return override(run, HEADS)
    if isinstance(run.model, BiLstmTaggerConfig):
        return override(run, TAGS)
    if isinstance(run, Run) and isinstance(run.task, Generation):
        changes = [f"{key}={value}" for key, value in small_settings(name).items()]
        return override(run, [*changes, *TWO_STEPS])
    if isinstance(run.model, BiDafConfig):
        return override(run, QUESTIONS)
    if isinstance(run, BertRun):
        return override(run, [*BERT, f"pieces.size={run.pieces.size // PIECES_BY}"])
    run = override(run, SETTINGS[type(run)])
    if isinstance(run.model, HierarchicalConfig):
        return override(run, ["model.context_size=4", "model.word_dropout=0"])
    if isinstance(run.model, AttentiveConfig):
        return override(run, [f"model.{part}_dropout=0" for part in ("embedding", "state", "word")])
    return override(run, ["model.embedding_dropout=0"]) if run.model_name() == "esim" else run


def tiny_data(run: AnyRun, folder: Path) -> Path:
    """Text, or pairs in the recipe's language, with labels of its kind."""
    if isinstance(run, ElmoRun):
        return write_text(folder)
    if isinstance(run, BertRun):
        return write_documents(folder)
    if isinstance(run, Word2VecRun):
        return write_sentences(folder)
    if isinstance(run.model, (BiLstmTaggerConfig, BertTaggerConfig)):
        if getattr(run.settings, "given", None) == "plain":
            return write_tagged(folder, parts_of_speech(60), ending=".conllu")
        return write_tagged(folder, named(60))
    if isinstance(run.model, (AttentiveConfig, HierarchicalConfig, BertClassifierConfig)):
        return with_tune(run, write_texts(folder, tiny_texts(run), num_dev=12))
    if isinstance(run.task, Generation):
        if run.task.form == "couplet":
            return write_writing(folder, couplets(120))
        rows = german(120)
        return (
            write_aligned(folder, rows) if run.settings.languages else write_writing(folder, rows)
        )
    if isinstance(run.model, (BiDafConfig, BertReaderConfig)):
        made = chinese_questions if run.name == "reader-zh" else english_questions
        return write_questions(folder, made(20))
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
    return with_tune(run, write_folder(folder, rows, num_dev=12))


def tiny_texts(run: Run) -> list[tuple[str, str]]:
    """Texts in the recipe's language, with labels of its kind."""
    if run.name == "relations":
        return relations(60)
    if run.text.unit == "characters":
        return [(f"{one}{other}", label) for one, other, label in chinese(60)]
    return reviews(60)


def with_tune(run: Run, folder: Path) -> Path:
    """The folder, with a split to tune on where the recipe wants one."""
    if run.data.tune is not None:
        shutil.copy(folder / "dev.tsv", folder / "tune.tsv")
    return folder


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
    train(
        run, RunOptions(data=data, output=folder / "model", observer=watcher, say=lambda line: None)
    )
    return watcher.found


def main() -> None:
    torch.set_num_threads(1)
    golden = {}
    for name in RECIPES:
        if name in WITHOUT_TORCH:  # fitted at once
            continue
        with TemporaryDirectory() as folder:
            golden[name] = [round(loss, 6) for loss in first_losses(name, Path(folder))]
    GOLDEN.write_text(json.dumps(golden, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
