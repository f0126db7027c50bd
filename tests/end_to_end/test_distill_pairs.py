"""`softquery distill --pairs`: from a matcher and pairs to a student, also when it is killed."""

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="distilling needs the extra [train]")

from running import finish, settings, softquery, start_warm
from slow_teacher import SLOW_TEACHER, refused, wait_until
from tiny_pairs import inference, write_folder, write_tsv

import softquery as sq

SIZES = {"embedding_size": 24, "hidden_size": 24, "projection_size": 16, "composer_size": 16}
SMALL = settings(model=SIZES, data={"batch_size": 32, "tune_share": 0.1}, optim={"lr": 0.005},
                 training={"max_epochs": 15, "average_decay": 0.9})  # fmt: skip
KILLED = -signal.SIGKILL
PAIR = ("sentence1", "sentence2")


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """A folder with a teacher that knows its task, and pairs, some with labels."""
    folder = tmp_path_factory.mktemp("distill pairs")
    rows = inference(700)
    data = write_folder(folder / "data", rows[:300])
    small = settings(model={"embedding_size": 16, "hidden_size": 16}, optim={"lr": 0.01},
                     training={"max_epochs": 8})  # fmt: skip
    answer = softquery("train", "esim", "--data", data, "--output", folder / "teacher", *small)
    assert answer.code == 0, answer.err
    write_tsv(folder / "pairs.tsv", [row[:2] for row in rows[300:]], PAIR)
    write_tsv(folder / "gold.tsv", rows[200:260])
    return folder


def command(work: Path, output: Path, *more: object) -> list[object]:
    pairs = ("--pairs", work / "pairs.tsv", "--pairs", work / "gold.tsv")
    return ["distill", work / "teacher", *pairs, "--output", output, *SMALL, *more]


def distilled(*words: object) -> dict:
    answer = softquery(*words, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_a_student_agrees_with_its_teacher_and_answers_with_its_labels(work, tmp_path):
    more = ("--student", "esim", "--set", "model.dropout=0.1")
    report = distilled(*command(work, tmp_path / "student", *more))
    assert report["tune"]["correlation"] > 0.95
    assert report["tune"]["agreement"] >= 0.75
    training = report["training"]
    assert (training["pairs"] + report["tune"]["n"], training["teacher"]) == (460, "teacher")
    assert 45 <= training["gold_pairs"] <= 60
    teacher, student = (sq.load(folder) for folder in (work / "teacher", tmp_path / "student"))
    assert student.labels == teacher.labels
    assert student.bundle.config.model["name"] == "esim"
    unseen = [row[:2] for row in inference(200, seed=5)]
    both = [[match.label for match in model.predict(unseen)] for model in (teacher, student)]
    assert np.mean(np.array(both[0]) == np.array(both[1])) > 0.9
    card = (tmp_path / "student" / "README.md").read_text(encoding="utf-8")
    assert "| teacher | teacher |" in card
    assert "| gold.tsv | 60 | unstated | pairs, 60 with a label |" in card
    assert not (tmp_path / "student.partial").exists()
    answer = softquery("export", tmp_path / "student", "--output", tmp_path / "exported")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("name", ["esim", "decomposable-snli", "siamese", "match-en", "esim-zh"])
def test_any_recipe_for_matching_learns(work, tmp_path, name):
    given = ("--pairs", work / "pairs.tsv", "--student", name, "--output", tmp_path / "student")
    small = settings(training={"max_epochs": 3}, optim={"lr": 0.01})
    if name == "match-en":  # a symmetric task of two labels, which the teacher's three replace
        small = [*small, "--set", "task.symmetric=false"]
    report = distilled("distill", work / "teacher", *given, *small)
    assert report["tune"]["correlation"] > 0.2
    assert report["training"]["gold_pairs"] == 0
    assert "gold_accuracy" not in report["tune"]


def test_a_head_on_an_encoder_can_be_the_student(work, tmp_path):
    from tiny_bert import settings as head_settings
    from tiny_bert import write_base

    base = write_base(tmp_path / "base", ["a man eats. some girl sings? who reads"])
    given = ("--pairs", work / "pairs.tsv", "--student", "bert-match", "--init", base)
    small = head_settings(training__max_steps=5)
    report = distilled("distill", work / "teacher", *given, "--output", tmp_path / "s", *small)
    assert report["training"]["steps"] == 5
    assert len(sq.load(tmp_path / "s").labels) == 3


def test_gold_labels_count_as_much_as_they_weigh(work, tmp_path):
    rows = inference(700)[300:]
    turned = {"entailment": "neutral", "neutral": "entailment", "contradiction": "contradiction"}
    wrong = write_tsv(tmp_path / "wrong.tsv", [(*row[:2], turned[row[2]]) for row in rows])
    accuracy = {}
    for weight in (0, 50):
        given = ("--pairs", wrong, "--output", tmp_path / f"student-{weight}", *SMALL)
        more = ("--set", f"distill.gold_weight={weight}")
        accuracy[weight] = distilled("distill", work / "teacher", *given, *more)["tune"]
    assert accuracy[0]["agreement"] > 0.7 > accuracy[50]["agreement"]
    assert accuracy[50]["gold_accuracy"] > 0.7 > accuracy[0]["gold_accuracy"]


def test_logits_of_a_file_teach_as_the_model_that_made_them(work, tmp_path):
    teacher = sq.load(work / "teacher")
    lines = (work / "pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]
    logits = teacher.logits([tuple(line.split("\t")) for line in lines])
    np.save(tmp_path / "logits.npy", logits)
    given = ("--pairs", work / "pairs.tsv", *SMALL, "--output")
    labels = ("--labels", ",".join(teacher.labels))
    few = ("--set", "training.max_epochs=3")
    one = distilled("distill", work / "teacher", *given, tmp_path / "one", *few)
    other = distilled("distill", tmp_path / "logits.npy", *given, tmp_path / "other", *labels, *few)
    assert one["tune"] == pytest.approx(other["tune"], abs=1e-4)
    np.save(tmp_path / "logit.npy", logits[:, :1])
    graded = distilled("distill", tmp_path / "logit.npy", *given, tmp_path / "graded")
    assert graded["tune"]["correlation"] > 0.7
    assert sq.load(tmp_path / "graded").is_graded


@pytest.mark.parametrize("num_labels", [1, 3])
def test_a_folder_of_a_cross_encoder_teaches_as_it_is(tmp_path, num_labels):
    pytest.importorskip("transformers")
    from sentence_folders import write_cross_encoder

    folder = write_cross_encoder(tmp_path / "theirs", num_labels=num_labels)
    letters = "abcdefghij"
    rows = [(f"{one} {other}", f"{other} the cat {one}") for one in letters for other in letters]
    pairs = write_tsv(tmp_path / "pairs.tsv", rows, PAIR)
    given = ("--pairs", pairs, "--output", tmp_path / "student", *SMALL)
    report = distilled("distill", folder, *given, "--set", "vocabulary.min_count=1")
    assert report["training"]["teacher"] == "theirs"
    assert len(sq.load(tmp_path / "student").labels) == (0 if num_labels == 1 else 3)


def test_killed_anywhere_and_resumed_it_ends_in_the_same_bytes(work, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    undisturbed = start_warm(*command(work, whole), code=SLOW_TEACHER)
    partial = tmp_path / "broken.partial"

    process = start_warm(*command(work, broken), code=SLOW_TEACHER)
    wait_until(lambda: len(list(partial.glob("teacher/*.npy"))) >= 2, process)
    process.kill()
    assert finish(process).code == KILLED
    kept = {path: path.stat().st_mtime_ns for path in partial.glob("teacher/*.npy")}

    often = ("--set", "training.checkpoint_seconds=0", "--resume")
    process = start_warm(*command(work, broken, *often), code=SLOW_TEACHER)
    wait_until((partial / "checkpoint.safetensors").exists, process)
    process.kill()
    assert finish(process).code == KILLED
    assert {path: path.stat().st_mtime_ns for path in kept} == kept

    answer = finish(start_warm(*command(work, broken, "--resume"), code=SLOW_TEACHER))
    assert answer.code == 0, answer.err
    assert finish(undisturbed).code == 0
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (whole / name).read_bytes() == (broken / name).read_bytes()


def test_other_pairs_and_another_teacher_are_refused_when_resuming(work, tmp_path):
    shutil.copytree(work / "teacher", tmp_path / "teacher")
    pairs = tmp_path / "pairs.tsv"
    shutil.copy(work / "pairs.tsv", pairs)
    given = ("--pairs", pairs, "--output", tmp_path / "student", *SMALL)
    process = start_warm("distill", tmp_path / "teacher", *given, code=SLOW_TEACHER)
    partial = tmp_path / "student.partial"
    wait_until(lambda: list(partial.glob("teacher/*.npy")), process)
    process.send_signal(signal.SIGINT)
    answer = finish(process)
    assert answer.code == 130
    assert "go on with --resume" in answer.err
    assert "partial: holds an interrupted run" in refused("distill", tmp_path / "teacher", *given)
    config = tmp_path / "teacher" / "config.json"
    config.write_text(config.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    said = refused("distill", tmp_path / "teacher", *given, "--resume")
    assert "run.json: the interrupted run had logits = " in said
    shutil.copy(work / "gold.tsv", pairs)
    said = refused("distill", work / "teacher", *given, "--resume")
    assert "the training data has changed" in said


def test_lines_of_a_megabyte_are_cut_and_learnt_from(work, tmp_path):
    rows = [row[:2] for row in inference(40)]
    long = [("wa " * 300_000, "Some cook sings."), ("A man eats.", "x" * 1_000_000)]
    pairs = write_tsv(tmp_path / "pairs.tsv", [*rows, *long], PAIR)
    answer = softquery(
        "distill", work / "teacher", "--pairs", pairs, "--output", tmp_path / "student", *SMALL
    )
    assert answer.code == 0, answer.err
    assert "2 texts were cut at 2,000 characters" in answer.err
