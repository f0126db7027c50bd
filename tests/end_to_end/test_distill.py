"""`softquery distill`: from a teacher and texts to a sentence encoder, also when it is killed."""

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="distilling needs the extra [train]")

from running import finish, softquery, start_warm
from slow_teacher import SLOW_TEACHER, refused, wait_until

import softquery as sq
from small_sentence_encoders import make_sentence_encoder, random_sentences

SMALL = [
    word
    for setting in (
        "model.output_size=16", "model.embedding_size=16", "likeness.prefixes=4,8",
        "data.batch_size=32", "pieces.min_count=1", "training.max_epochs=3",
    )
    for word in ("--set", setting)
]  # fmt: skip
OFTEN = ("--set", "training.checkpoint_seconds=0")
KILLED = -signal.SIGKILL


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """A folder with a teacher and texts."""
    folder = tmp_path_factory.mktemp("distill")
    make_sentence_encoder(folder / "teacher", output_size=24)
    lines = [f"{text} {number % 7}" for number, text in enumerate(random_sentences(400))]
    (folder / "texts.txt").write_text("\n".join([*lines, "", lines[0]]) + "\n", encoding="utf-8")
    return folder


def command(work: Path, output: Path, *more: object) -> list[object]:
    texts = work / "texts.txt"
    return ["distill", work / "teacher", "--texts", texts, "--output", output, *SMALL, *more]


def test_a_static_student_comes_near_its_teacher_and_can_be_opened(work, tmp_path):
    answer = softquery(*command(work, tmp_path / "student", "--json"))
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert report["tune"]["cosine"] > 0.8
    assert report["training"]["texts"] == 396  # 400 and a repeated one, of which 1 % is held back
    vectors = sq.load(tmp_path / "student").encode(["wa wb", "wc"])
    assert vectors.shape == (2, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert not (tmp_path / "student.partial").exists()
    assert "teacher" in (tmp_path / "student" / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def taught(work, tmp_path_factory) -> Path:
    """A student that has learnt."""
    student = tmp_path_factory.mktemp("taught") / "student"
    assert softquery(*command(work, student)).code == 0
    return student


def going_on(work: Path, start: Path, output: Path, *more: object) -> list[object]:
    texts = work / "texts.txt"
    first = ["distill", work / "teacher", "--texts", texts, "--init", start, "--output", output]
    return [*first, "--set", "data.batch_size=32", "--json", *more]


def test_a_student_goes_on_along_the_axes_that_it_had_learnt(work, taught, tmp_path):
    answer = softquery(*going_on(work, taught, tmp_path / "on", "--set", "optim.lr=1e-9"))
    assert answer.code == 0, answer.err
    before = json.loads((taught / "metrics.json").read_text())["tune"]["cosine"]
    assert json.loads(answer.out)["tune"]["cosine"] > before - 0.001
    texts = random_sentences(20)
    same = sq.load(tmp_path / "on").encode(texts) @ sq.load(taught).encode(texts).T
    assert np.diag(same).min() > 0.999
    assert (tmp_path / "on" / "tokenizer.json").read_bytes() == (
        taught / "tokenizer.json"
    ).read_bytes()


def test_a_student_that_goes_on_comes_nearer(work, taught, tmp_path):
    more = ["--set", "training.max_epochs=6", "--set", "optim.lr=5e-3"]
    answer = softquery(*going_on(work, taught, tmp_path / "on", *more))
    assert answer.code == 0, answer.err
    before = json.loads((taught / "metrics.json").read_text())["tune"]["cosine"]
    assert json.loads(answer.out)["tune"]["cosine"] > before + 0.005


def test_a_published_encoder_goes_on(work, tmp_path):
    pytest.importorskip("transformers", reason="writing its folder needs transformers")
    from sentence_folders import write_sentence_folder

    folder = write_sentence_folder(tmp_path / "published", "bert")
    softquery("import", "sentence-transformers", folder, "--output", tmp_path / "imported")
    make_sentence_encoder(tmp_path / "wide", output_size=40)
    texts = work / "texts.txt"
    words = ["distill", tmp_path / "wide", "--texts", texts, "--init", tmp_path / "imported"]
    answer = softquery(*words, "--output", tmp_path / "on", "--json")
    assert answer.code == 0, answer.err
    before, after = (sq.load(tmp_path / name).encode(["wa"]) for name in ("imported", "on"))
    assert before @ after.T < 0.99999


@pytest.mark.parametrize("student", ["bilstm", "convolution", "transformer"])
def test_every_student_learns(work, tmp_path, student):
    more = ["--student", student, "--set", "model.hidden_size=8", "--set", "model.num_heads=2"]
    answer = softquery(*command(work, tmp_path / "student", *more, "--json"))
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["tune"]["cosine"] > 0.3


def test_vectors_of_a_file_teach_as_the_model_that_made_them(work, tmp_path):
    lines = (work / "texts.txt").read_text(encoding="utf-8").split("\n")
    np.save(tmp_path / "vectors.npy", sq.load(work / "teacher").encode(filter(None, lines)))
    more = ["--set", "training.max_epochs=30", "--set", "optim.lr=0.02"]
    answer = softquery(
        "distill", tmp_path / "vectors.npy", "--texts", work / "texts.txt",
        "--output", tmp_path / "student", *SMALL, *more, "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["tune"]["cosine"] > 0.6


def test_a_folder_of_sentence_transformers_teaches_as_it_is(work, tmp_path):
    pytest.importorskip("transformers")
    from sentence_folders import write_sentence_folder

    folder = write_sentence_folder(tmp_path / "theirs")
    given = ("--texts", work / "texts.txt", "--output", tmp_path / "student", *SMALL)
    narrow = ("--set", "model.output_size=12", "--set", "model.embedding_size=12")
    answer = softquery("distill", folder, *given, *narrow, "--json")
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert report["training"]["teacher"] == "theirs"
    assert report["tune"]["cosine"] > 0.8
    (folder / "1_Pooling" / "config.json").unlink()
    elsewhere = ("--texts", work / "texts.txt", "--output", tmp_path / "other", *SMALL)
    assert "1_Pooling/config.json: " in refused("distill", folder, *elsewhere)
    assert not (tmp_path / "other.partial").exists()


def test_pairs_and_several_teachers_teach_together(work, tmp_path):
    make_sentence_encoder(tmp_path / "second", output_size=24, seed=3)
    texts = (work / "texts.txt").read_text(encoding="utf-8").split("\n")
    firsts, seconds = texts[:60:2], texts[1:60:2]
    rows = [f"{first}\t{second}" for first, second in zip(firsts, seconds, strict=True)]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join(["sentence1\tsentence2", *rows]) + "\n", encoding="utf-8")
    learnt = {}
    for weight in (0, 5):
        output = tmp_path / f"student-{weight}"
        answer = softquery(
            "distill", work / "teacher", tmp_path / "second", "--texts", work / "texts.txt",
            "--pairs", pairs, "--output", output, *SMALL, "--set", f"pairs.weight={weight}",
            "--set", "pairs.floor=1", "--set", "pairs.num_negatives=2",
            "--set", "training.max_epochs=20", "--set", "optim.lr=0.02", "--json",
        )  # fmt: skip
        assert answer.code == 0, answer.err
        training = json.loads(answer.out)["training"]
        assert (training["pairs"], training["teacher"]) == (30, "teacher + second")
        assert "30 pairs, 2 mined negatives each" in answer.err
        assert "pairs that mean the same" in (output / "README.md").read_text(encoding="utf-8")
        cosines = sq.load(output).similarity(firsts, seconds)
        learnt[weight] = np.trace(cosines) / 30 - cosines.mean()
    assert learnt[5] > learnt[0] + 0.02  # the teachers do not know of these pairs


def test_translations_are_learnt_by_the_teachers_vector_of_the_original(work, tmp_path):
    texts = (work / "texts.txt").read_text(encoding="utf-8").split("\n")[:200]
    words = {}
    for text in texts:
        for word in text.split():
            words.setdefault(word, chr(0x4E00 + len(words)))
    foreign = [" ".join(words[word] for word in text.split()) for text in texts]
    parallel = tmp_path / "parallel.tsv"
    rows = [f"{other}\t{text}" for other, text in zip(foreign, texts, strict=True)]
    parallel.write_text("\n".join(["text\ttaught", *rows]) + "\n", encoding="utf-8")
    answer = softquery(
        "distill", work / "teacher", "--texts", work / "texts.txt", "--parallel", parallel,
        "--output", tmp_path / "student", *SMALL, "--set", "training.max_epochs=40",
        "--set", "optim.lr=0.02", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    encoder = sq.load(tmp_path / "student")
    cosines = encoder.similarity(foreign[:50], texts[:50])
    assert (cosines.argmax(axis=1) == np.arange(50)).mean() > 0.5


def test_another_teacher_is_not_taken_for_the_one_of_the_interrupted_run(work, tmp_path):
    make_sentence_encoder(tmp_path / "teacher", output_size=24)
    given = ("--texts", work / "texts.txt", "--output", tmp_path / "student", *SMALL)
    process = start_warm("distill", tmp_path / "teacher", *given, code=SLOW_TEACHER)
    wait_until(lambda: list((tmp_path / "student.partial").glob("teacher/*.npy")), process)
    process.kill()
    assert finish(process).code == KILLED
    shutil.rmtree(tmp_path / "teacher")
    make_sentence_encoder(tmp_path / "teacher", output_size=24, seed=2)
    said = refused("distill", tmp_path / "teacher", *given, "--resume")
    assert "run.json: the interrupted run had vectors = " in said


def test_killed_anywhere_and_resumed_it_ends_in_the_same_bytes(work, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    undisturbed = start_warm(*command(work, whole), code=SLOW_TEACHER)
    partial = tmp_path / "broken.partial"

    process = start_warm(*command(work, broken), code=SLOW_TEACHER)
    wait_until(lambda: len(list(partial.glob("teacher/*.npy"))) >= 2, process)
    process.kill()
    assert finish(process).code == KILLED
    kept = {path: path.stat().st_mtime_ns for path in partial.glob("teacher/*.npy")}

    process = start_warm(*command(work, broken, *OFTEN, "--resume"), code=SLOW_TEACHER)
    wait_until((partial / "checkpoint.safetensors").exists, process)
    process.kill()
    assert finish(process).code == KILLED
    assert {path: path.stat().st_mtime_ns for path in kept} == kept

    answer = finish(start_warm(*command(work, broken, "--resume"), code=SLOW_TEACHER))
    assert answer.code == 0, answer.err
    assert finish(undisturbed).code == 0
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (whole / name).read_bytes() == (broken / name).read_bytes()


def test_ctrl_c_keeps_the_teachers_vectors(work, tmp_path):
    partial = tmp_path / "student.partial"
    process = start_warm(*command(work, tmp_path / "student"), code=SLOW_TEACHER)
    wait_until(lambda: len(list(partial.glob("teacher/*.npy"))) >= 1, process)
    process.send_signal(signal.SIGINT)
    answer = finish(process)
    assert answer.code == 130
    assert "go on with --resume" in answer.err
    assert list(partial.glob("teacher/*.npy"))


def test_a_line_of_a_megabyte_is_cut_and_learnt_from(work, tmp_path):
    texts = tmp_path / "texts.txt"
    lines = [*random_sentences(40), "wa " * 300_000]
    texts.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = softquery(
        "distill", work / "teacher", "--texts", texts, "--output", tmp_path / "student", *SMALL
    )
    assert answer.code == 0, answer.err
