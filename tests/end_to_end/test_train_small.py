"""Training on little data with defaults: the recipe adapts and learns, or says it did not."""

import json

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import softquery
from tiny_texts import reviews, write_texts, write_tsv

from softquery.recipes import override, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import train as run_recipe

SIZES = ("--set", "model.hidden_size=64", "--set", "model.embedding_size=64")
COLUMNS = ("text", "label")


class Watch:
    """Acts after a step."""

    def __init__(self, act):
        self.act = act

    def begin(self, total_steps, done): ...

    def step(self, done, facts):
        self.act(done)

    def epoch(self, number, facts, improved): ...


def train(data, output, *words):
    return softquery("train", "attention-bilstm", "--data", data, "--output", output, *words)


def said_and_metrics(data, output, *words):
    answer = train(data, output, "--json", *words)
    assert answer.code == 0, answer.err
    return answer.err, json.loads(answer.out)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Sixty reviews, trained by the defaults."""
    folder = tmp_path_factory.mktemp("small")
    data = write_texts(folder / "data", reviews(100), num_dev=40)
    said, metrics = said_and_metrics(data, folder / "model", *SIZES)
    return folder, said, metrics


def test_sixty_rows_are_learnt(small):
    _, said, metrics = small
    assert metrics["dev"]["accuracy"] > 0.85
    assert metrics["training"]["learnt"] is True
    assert "learnt nothing" not in said


def test_rules_are_shown_before_training(small):
    _, said, _ = small
    lines = said.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("epoch 1:"))
    shown = "\n".join(lines[:first])
    assert "48 texts to train on, 12 held back to tune by" in shown
    assert "  data.batch_size 8, not 64: 48 rows are then 6 steps per epoch" in shown
    assert "  training.max_epochs 100, not 30: 6 steps per epoch, and 600 steps" in shown
    assert "as in the recipe: model.dropout 0.5" in shown


def test_rules_and_warnings_are_kept(small):
    folder, said, metrics = small
    found = {each["setting"]: each["value"] for each in metrics["training"]["fitted"]}
    assert found["training.max_epochs"] == 100
    run = json.loads((folder / "model/training/run.json").read_text())
    assert run["fitted"] == metrics["training"]["fitted"]
    assert (run["data"]["batch_size"], run["data"]["tune_share"]) == (8, 0.2)
    (warned,) = metrics["training"]["warnings"]
    assert warned.startswith("12 texts are held back to steer by")
    assert f"warning: {warned}" in said
    card = (folder / "model/README.md").read_text()
    assert f"- Warned while training: {warned}." in card
    assert "| fitted to the data | data.tune_share=0.2, data.batch_size=8," in card


def test_what_is_set_is_kept(small, tmp_path):
    folder, _, _ = small
    words = (*SIZES, "--set", "training.max_epochs=1", "--set", "data.batch_size=64")
    said, metrics = said_and_metrics(folder / "data", tmp_path / "model", *words)
    assert metrics["training"]["steps"] == 1
    assert not {"training.max_epochs", "data.batch_size"} & {
        each["setting"] for each in metrics["training"]["fitted"]
    }
    assert "data.batch_size" not in said


def test_a_run_that_learns_nothing_says_so_last(tmp_path):
    rows = [(f"word{place} and more", "ab"[place % 2]) for place in range(80)]
    data = write_texts(tmp_path / "data", rows)
    words = (*SIZES, "--set", "optim.lr=1e-12", "--set", "training.max_epochs=3")
    answer = train(data, tmp_path / "model", *words)
    assert answer.code == 0
    last = answer.err.splitlines()[-1]
    assert last.startswith("softquery: this run has learnt nothing: accuracy on ")
    assert "warning: the training loss has hardly moved" in answer.err
    metrics = json.loads((tmp_path / "model/metrics.json").read_text())
    assert metrics["training"]["learnt"] is False
    assert last == f"softquery: {metrics['training']['warnings'][-1]}"
    assert "this run has learnt nothing" in (tmp_path / "model/README.md").read_text()


def test_rows_that_contradict_and_labels_with_one_row(tmp_path):
    rows = reviews(100)
    text, label = rows[0]
    other = next(each for _, each in rows if each != label)
    data = write_texts(tmp_path / "data", rows)
    write_tsv(data / "train.tsv", [*rows[:60], (text, other), ("so so", "mixed")], COLUMNS)
    words = (*SIZES, "--set", "training.max_epochs=1", "--set", "schedule.warmup_steps=20")
    answer = train(data, tmp_path / "model", *words)
    assert f"(row 2 {label} and row 62 {other})" in answer.err
    assert "warning: one label has a single row (mixed)" in answer.err
    assert "its learning rate rises for 20 (schedule.warmup_steps)" in answer.err


def test_a_resumed_run_goes_on_to_the_same_weights(small, tmp_path):
    folder, _, metrics = small

    def interrupt(done):
        if done == 20:
            raise KeyboardInterrupt

    run = override(recipe("attention-bilstm"), SIZES[1::2])
    options = RunOptions(data=folder / "data", output=tmp_path / "model", observer=Watch(interrupt),
                         say=lambda line: None, chosen=frozenset())  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        run_recipe(run, options)
    said, again = said_and_metrics(folder / "data", tmp_path / "model", "--resume", *SIZES)
    assert "resumed at step" in said
    assert again["training"]["fitted"] == metrics["training"]["fitted"]
    ours, theirs = (place / "model/model.safetensors" for place in (tmp_path, folder))
    assert ours.read_bytes() == theirs.read_bytes()
