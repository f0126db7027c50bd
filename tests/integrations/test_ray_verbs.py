"""Every bulk verb of the command line on a real Ray, beside the same verb without it."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("ray", reason='needs "softquery[ray]"')
pytest.importorskip("softquery_models", reason="needs softquery-models")

from softquery.runtime.kinds import KINDS

pytestmark = pytest.mark.timeout(600)
TEXTS = [f"Ada Lovelace wrote {n} letters to London and was happy" for n in range(70)]
VERBS = {
    "classify": ("--model", "sentiment-en"),
    "tag": ("--model", "tagger-en", "--split", "spaces"),
    "generate": ("--model", "translate-de-en", "--beam", 1, "--ban", "cat"),
    "fill": ("--model", "bert-mini-en", "--top-k", 2),
    "read": ("--model", "read-en"),
}
RAY = ("--engine", "ray", "--num-actors", 1)


def softquery(*words, code=0):
    """Run a command; what it said on standard error."""
    command = [sys.executable, "-m", "softquery", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr
    return ended.stderr


def source(verb, folder):
    """A file of rows for a verb; of fills, one row cannot be answered."""
    if verb == "read":
        path = folder / "rows.jsonl"
        rows = [{"question": "Who wrote?", "context": text} for text in TEXTS]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    path = folder / "rows.txt"
    if verb == "generate":
        lines = ["Ein Hund schläft .", "Zwei Männer essen ."] * 34
    elif verb == "fill":
        lines = [text.replace("London", "[MASK]") for text in TEXTS[:66]] + ["no mask here"]
    else:
        lines = TEXTS
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_says_on_ray_what_it_says_alone(verb, tmp_path):
    rows, more = source(verb, tmp_path), VERBS[verb]
    asked = (verb, "--input", rows, *more, "--on-error", "skip")
    softquery(*asked, "--output", tmp_path / "alone.jsonl", "--threads", 1)
    told = softquery(*asked, "--output", tmp_path / "out", *RAY)
    (shard,) = (tmp_path / "out").glob("*.jsonl")
    assert shard.read_bytes() == (tmp_path / "alone.jsonl").read_bytes()
    assert "1 shard of 1 file" in told
    if verb == "fill":
        (note,) = (tmp_path / "out" / "_errors").iterdir()
        assert note.read_bytes() == (tmp_path / "alone.jsonl.errors.tsv").read_bytes()


def test_vectors_of_sentences(tmp_path):
    rows = source("classify", tmp_path)
    asked = ("embed", rows, "--model", "embed-en", "--dimensions", 32)
    softquery(*asked, "--output", tmp_path / "alone.npy", "--threads", 1)
    softquery(*asked, "--output", tmp_path / "out", *RAY, "--form", "npy")
    (shard,) = (tmp_path / "out").glob("*.npy")
    assert shard.read_bytes() == (tmp_path / "alone.npy").read_bytes()


def test_vectors_of_words_in_context(tmp_path):
    rows = source("classify", tmp_path)
    asked = ("embed", rows, "--model", "bert-mini-en", "--layers", "top")
    softquery(*asked, "--output", tmp_path / "alone.npz", "--threads", 1)
    softquery(*asked, "--output", tmp_path / "out", *RAY, "--form", "npz")
    (shard,) = (tmp_path / "out").glob("*.npz")
    with np.load(shard) as found, np.load(tmp_path / "alone.npz") as alone:
        assert len(found.files) == len(alone.files) == len(TEXTS)
        assert all(np.array_equal(found[name], alone[name]) for name in alone.files)


def test_a_teacher_is_asked_by_actors(tmp_path):
    pytest.importorskip("lightning_fabric", reason="distilling needs the extra [train]")
    draw = np.random.default_rng(1)
    lines = [
        f"a man eats {a} apples\tsomeone eats {b} pears" for a, b in draw.integers(9, size=(300, 2))
    ]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join(["sentence1\tsentence2", *lines]) + "\n")
    sizes = ("embedding_size=8", "hidden_size=8", "projection_size=8", "composer_size=8")
    small = [word for size in sizes for word in ("--set", f"model.{size}")]
    asked = ("distill", "nli-en", "--pairs", pairs, "--set", "training.max_epochs=1", *small)
    softquery(*asked, "--output", tmp_path / "alone")
    softquery(*asked, "--output", tmp_path / "by-actors", *RAY)
    files = [tmp_path / name / "model.safetensors" for name in ("alone", "by-actors")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_is_asked_wrongly_is_one_line(tmp_path):
    rows = source("classify", tmp_path)
    given = ("classify", "--input", rows, "--output", tmp_path / "out")
    assert softquery(*given, "--num-actors", 2, code=2).splitlines() == [
        "softquery: --num-actors is for --engine ray"
    ]
    told = softquery("classify", "fine", *RAY, code=2)
    assert told == "softquery: --engine ray is for files; texts in quotes are answered at once\n"
    told = softquery(*given[:3], *RAY, code=2)
    assert told == "softquery: --engine ray needs --output: a folder for the shards\n"
    told = softquery(*given, *RAY, "--form", "xml", code=2)
    assert told == "softquery: --form must be jsonl or parquet or csv, got 'xml'\n"
    told = softquery("embed", rows, "--output", tmp_path / "out", *RAY, code=2)
    assert told.startswith("softquery: --engine ray needs --model")


def test_every_kind_that_answers_files_is_tried():
    assert {kind.verb for kind in KINDS.values() if kind.bulk} - {"match", "embed"} <= set(VERBS)
