"""Word vectors from a corpus to answers, as users type it; killed on the way, and fed odd text."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")
pytest.importorskip("numba", reason="the CPU engine needs the extra [train]")

from running import finish, softquery, start_warm

from softquery import load_vectors
from softquery.bundle import read_bundle
from softquery.files import read_vectors

SMALL = ["--set", "model.embedding_size=8", "--set", "training.threads=1", "--set",
         "training.engine=numba"]  # fmt: skip
PAGE = Path(__file__).resolve().parents[2] / "docs" / "word2vec.md"


def topics(num_lines, seed=1):
    """Sentences about colours or about numbers."""
    draw = np.random.default_rng(seed)
    words = (["red", "green", "blue", "pink", "grey"], ["one", "two", "three", "four", "five"])
    return "".join(" ".join(draw.choice(words[n % 2], 9)) + "\n" for n in range(num_lines))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    (folder / "corpus.txt").write_text(topics(2000))
    words = [*SMALL, "--set", "training.lr=0.1", "--set", "training.subsample=0", "--json"]
    answer = softquery(
        "train", "word2vec", "--data", folder / "corpus.txt", "--output", folder / "model", *words
    )
    assert answer.code == 0, answer.err
    return folder / "model", answer


def test_evaluate_names_the_commands_for_word_vectors(trained):
    folder, _ = trained
    answer = softquery("evaluate", folder, "--data", folder.parent / "corpus.txt")
    assert answer.code == 2
    told = "holds word vectors; see softquery vectors similarity, analogy"
    assert answer.err == f"softquery: {folder}: {told}\n"


def test_a_run_says_what_it_does_and_leaves_a_bundle(trained):
    folder, answer = trained
    metrics = json.loads(answer.out)
    assert metrics["bundle"] == str(folder)
    assert metrics["training"]["words"] == 10
    assert metrics["training"]["words_read"] == 18_000
    assert metrics["training"]["engine"] == "numba, 1 thread"
    lines = answer.err.splitlines()
    assert lines[0] == f"reading {folder.parent / 'corpus.txt'}"
    assert lines[1] == "vocabulary: 10 words, which make up 18,000 of 18,000 words of text"
    assert re.fullmatch(r"epoch 5: loss [\d.]+  [\d,]+ words/s", lines[-2])
    assert lines[-1] == f"bundle written: {folder}"
    bundle = read_bundle(folder)
    assert bundle.config.kind == "vectors"
    assert bundle.config.model["config"]["architecture"] == "skipgram"
    assert json.loads((folder / "training/run.json").read_text())["vocabulary"]["min_count"] == 5
    assert "softquery vectors nearest king" in bundle.card
    assert "Calibration" not in bundle.card
    assert not folder.with_name("model.partial").exists()


def test_vectors_answer_on_the_command_line(trained):
    folder, _ = trained
    near = json.loads(
        softquery("vectors", "nearest", "red", "Two", "--model", folder, "--top", 4, "--json").out
    )
    assert {each["word"] for each in near["red"]} == {"green", "blue", "pink", "grey"}
    assert {each["word"] for each in near["Two"]} == {"one", "three", "four", "five"}
    alike = softquery("vectors", "similarity", "red", "blue", "--model", folder, "--json").out
    apart = softquery("vectors", "similarity", "red", "two", "--model", folder, "--json").out
    assert json.loads(alike)["similarity"] > json.loads(apart)["similarity"] + 0.3
    shown = softquery("vectors", "nearest", "red", "--model", folder).out
    assert shown.startswith("near red\n")
    three = softquery("vectors", "analogy", "red", "blue", "one", "--model", folder, "--json").out
    assert len(json.loads(three)) == 5


def test_files_of_questions_and_grades(trained, tmp_path):
    folder, _ = trained
    (tmp_path / "q.txt").write_text(": a\nred blue one two\nred blue one ten\n: b\nx y z w\n")
    found = json.loads(
        softquery("vectors", "analogy", tmp_path / "q.txt", "--model", folder, "--json").out
    )
    assert (found["n"], found["unknown"], len(found["sections"])) == (1, 2, 2)
    assert found["sections"][1]["accuracy"] is None
    table = softquery("vectors", "analogy", tmp_path / "q.txt", "--model", folder).out
    assert re.search(r"all +│ +[01]\.0000", table)
    (tmp_path / "g.tsv").write_text("red\tblue\t9\nred\ttwo\t1\none\ttwo\t8\nred\tten\t3\n")
    grades = json.loads(
        softquery("vectors", "similarity", tmp_path / "g.tsv", "--model", folder, "--json").out
    )
    assert (grades["n"], grades["unknown"]) == (3, 1)
    assert grades["spearman"] > 0.4


def test_a_map_is_a_picture_and_data(trained, tmp_path):
    pytest.importorskip("matplotlib", reason="a PNG needs the extra [plot]")
    folder, _ = trained
    words = ["red", "blue", "one", "two"]
    picture = tmp_path / "map.png"
    answer = softquery(
        "vectors", "plot", *words, "--arrows", "--model", folder, "--output", picture, "--json"
    )
    points = json.loads(answer.out)
    assert [each["word"] for each in points] == words
    assert answer.err == f"written: {picture}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    whole = softquery("vectors", "plot", "--top", 6, "--model", folder, "--output", picture)
    assert (whole.code, whole.out) == (0, "")


@pytest.mark.parametrize("form", ["glove", "word2vec", "word2vec-binary"])
def test_out_to_other_tools_and_in_again(trained, tmp_path, form):
    folder, _ = trained
    path = tmp_path / "vectors.txt"
    answer = softquery("vectors", "export", "--model", folder, "--output", path, "--form", form)
    assert answer.code == 0, answer.err
    assert len(read_vectors(path).words) == 10
    report = softquery("import", "vectors", path, "--output", tmp_path / "model", "--json").out
    assert json.loads(report)["words"] == 10
    ours, theirs = load_vectors(folder), load_vectors(tmp_path / "model")
    assert theirs.words == ours.words
    np.testing.assert_array_equal(theirs.vectors.matrix, ours.vectors.matrix)
    listed = softquery("vectors", "nearest", "red", "--model", path, "--json")  # a file does, too
    assert listed.code == 0


@pytest.mark.parametrize("engine", ["numba", "torch"])
@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
def test_ngrams_give_vectors_to_words_that_were_never_seen(tmp_path, engine, architecture):
    (tmp_path / "corpus.txt").write_text(topics(200))
    settings = ["model.num_buckets=500", f"model.architecture={architecture}", "training.epochs=1"]
    more = [word for each in settings for word in ("--set", each)]
    answer = softquery(
        *("train", "word2vec", "--data", tmp_path / "corpus.txt", "--output", tmp_path / "m"),
        *(*SMALL, *more, "--set", f"training.engine={engine}", "--set", "training.batch_size=64"),
    )
    assert answer.code == 0, answer.err
    weights = read_bundle(tmp_path / "m").read_weights()
    assert weights["ngrams"].shape == (len(weights["buckets"]), 8)
    near = softquery("vectors", "nearest", "greenish", "--model", tmp_path / "m", "--json")
    assert near.code == 0, near.err


def test_phrases_become_words(tmp_path):
    (tmp_path / "corpus.txt").write_text(
        "she left new york\nnew york never sleeps\n" * 30 + "new\n"
    )
    answer = softquery(
        *("train", "word2vec-cbow", "--data", tmp_path / "corpus.txt", "--output", tmp_path / "m"),
        *(*SMALL, "--set", "vocabulary.phrase_passes=1", "--set", "vocabulary.phrase_threshold=2"),
    )
    assert answer.code == 0, answer.err
    assert re.search(r"phrases, pass 1: \d+ found", answer.err)
    assert "new_york" in load_vectors(tmp_path / "m").words


def test_a_folder_of_shards_is_one_corpus(tmp_path):
    whole = topics(300)
    lines = whole.splitlines(keepends=True)
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards/train-0.txt").write_text("".join(lines[:100]))
    (tmp_path / "shards/train-1.txt").write_text("".join(lines[100:]))
    (tmp_path / "shards/valid.txt").write_text("nobody should read this " * 50)
    (tmp_path / "whole.txt").write_text(whole)
    for data, output in (("shards", "a"), ("whole.txt", "b")):
        answer = softquery(
            "train", "word2vec", "--data", tmp_path / data, "--output", tmp_path / output, *SMALL
        )
        assert answer.code == 0, answer.err
    one, other = load_vectors(tmp_path / "a"), load_vectors(tmp_path / "b")
    assert one.words == other.words
    np.testing.assert_array_equal(one.vectors.matrix, other.vectors.matrix)


def long_run(folder, output):
    return ["train", "word2vec", "--data", folder / "corpus.txt", "--output", output, *SMALL,
            "--set", "training.epochs=12"]  # fmt: skip


@pytest.mark.slow
def test_a_run_that_is_interrupted_goes_on_to_the_same_bits(tmp_path):
    (tmp_path / "corpus.txt").write_text(topics(60_000))
    whole = softquery(*long_run(tmp_path, tmp_path / "whole"))
    assert whole.code == 0, whole.err
    process = start_warm(*long_run(tmp_path, tmp_path / "part"))
    for line in process.stderr:
        if line.startswith("epoch 1:"):
            break
    process.send_signal(signal.SIGINT)
    answer = finish(process)
    assert answer.code == 130, answer
    assert "interrupted; go on with --resume" in answer.err
    assert (tmp_path / "part.partial" / "checkpoint.safetensors").exists()
    refused = softquery(*long_run(tmp_path, tmp_path / "part"))
    assert (refused.code, "holds an interrupted run" in refused.err) == (2, True)
    other = softquery(*long_run(tmp_path, tmp_path / "part"), "--resume", "--seed", 7)
    assert "the interrupted run had training.seed = 1, now 7" in other.err
    resumed = softquery(*long_run(tmp_path, tmp_path / "part"), "--resume")
    assert resumed.code == 0, resumed.err
    assert re.search(r"resumed at word [\d,]+ of at most 6,480,000", resumed.err)
    assert "reading" not in resumed.err  # the corpus lies there as ids
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "part")]
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_a_run_that_is_killed_while_reading_starts_over(tmp_path):
    (tmp_path / "corpus.txt").write_text(topics(200_000))
    process = start_warm(*long_run(tmp_path, tmp_path / "model"))
    while not (tmp_path / "model.partial").exists() and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    finish(process)
    (tmp_path / "corpus.txt").write_text(topics(1000))
    answer = softquery(*long_run(tmp_path, tmp_path / "model"), "--resume")
    if (tmp_path / "model.partial/training/run.json").exists():
        assert "the training data has changed" in answer.err
        (tmp_path / "corpus.txt").write_text(topics(200_000))
        answer = softquery(*long_run(tmp_path, tmp_path / "model"), "--resume")
    assert answer.code == 0, answer.err


def test_a_missing_extra_is_named(tmp_path):
    (tmp_path / "corpus.txt").write_text(topics(20))
    code = "import sys; sys.modules['numba'] = None; from softquery.cli import main"
    words = ["train", "word2vec", "--data", tmp_path / "corpus.txt", "--output", tmp_path / "m"]
    answer = finish(start_warm(*words, "--set", "training.engine=numba", code=code))
    assert answer.code == 2
    assert answer.err == (
        "softquery: training word vectors on the CPU needs an optional part: "
        'pip install "softquery[train]"\n'
    )
    assert not (tmp_path / "m.partial").exists()


def test_questions_need_no_torch(trained):
    folder, _ = trained
    code = (
        "import sys; sys.modules['torch'] = sys.modules['numba'] = None;"
        "from softquery.cli import main; sys.argv = ['softquery', *sys.argv[1:]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "vectors", "nearest", "red", "--model", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "near red" in done.stdout


ODD = {
    "a token of 10,000 characters": ("a cat sat " * 9 + "x" * 10_000 + " on a mat " * 9, None),
    "a token of 200 characters": (f"a cat {'y' * 200} sat " * 9, "y" * 200),
    "nothing but emoji": ("🦊 🐶 🦊 🐱 🐶🐱 \n" * 9, "🦊"),
    "several scripts in one line": ("cat 猫 кошка قطة γάτα 고양이 \n" * 9, "кошка"),
    "letters with loose accents": ("caf\u0065\u0301 au lait \n" * 9, "café"),
    "one endless line": ("the cat sat on a mat " * 30_000, "mat"),
    "lines of Windows, and a byte order mark": ("\ufeffthe cat\r\nsat there\r\n" * 9, "there"),
    "blank lines between": ("the cat\n\n\n\nsat there\n" * 9, "cat"),
    "a file without a line end": ("the cat sat " * 9, "sat"),
    "the names of reserved tokens": ("<unk> a <pad> b \n" * 9, "<unk>"),
}
"""By the titles of the page's table: the text, and a word that has a vector afterwards."""


@pytest.mark.parametrize("title", ODD)
def test_odd_corpora_give_what_the_page_says(title, tmp_path):
    text, word = ODD[title]
    (tmp_path / "corpus.txt").write_bytes(text.encode())
    unit = "whitespace" if "reserved" in title else "words"
    answer = softquery(
        *("train", "word2vec", "--data", tmp_path / "corpus.txt", "--output", tmp_path / "model"),
        *(*SMALL, "--set", f"text.unit={unit}", "--set", "training.epochs=1"),
    )
    assert answer.code == 0, answer.err
    space = load_vectors(tmp_path / "model")
    assert np.isfinite(space.vectors.matrix).all()
    if word is None:
        assert "1 word of more than 256 characters left out" in answer.err
        assert max(map(len, space.words)) <= 256
    else:
        assert word in space.words
        assert "left out" not in answer.err


def test_the_page_lists_every_odd_corpus():
    section = PAGE.read_text(encoding="utf-8").partition("\n## Odd corpora\n")[2]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert [row for row in rows if row not in ("corpus", "---")] == list(ODD)
