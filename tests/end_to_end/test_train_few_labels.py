"""`softquery train classify-few`: from a file to answers, without torch, and reasons in a line."""

import csv
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="small encoders are made with the extra [train]")

from running import softquery

import softquery as sq
from small_heads import few_rows, write_rows
from softquery.bundle import read_bundle

BLOCKED = """
import sys
class Refusal:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("torch", "jaxtyping", "lightning_fabric", "onnx", "sklearn",
                                      "scipy"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refusal())
from softquery.cli import main
main()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    write_rows(folder / "data" / "train.tsv", few_rows(60))
    write_rows(folder / "data" / "dev.tsv", few_rows(40)[21:])
    return folder


@pytest.fixture(autouse=True)
def _at_home(place, monkeypatch):
    monkeypatch.setenv("SOFTQUERY_HOME", str(place / "home"))


def train(data, output, *words):
    return softquery("train", "classify-few", "--data", data, "--output", output, *words)


def blocked(*words):
    """A command in a process of its own that can import no torch."""
    command = [sys.executable, "-c", BLOCKED, *map(str, words)]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_from_file_to_answers_without_torch(place, tmp_path):
    model = tmp_path / "model"
    run = blocked("train", "classify-few", "--data", place / "data", "--output", model, "--json")
    assert (run.returncode, run.stderr.count("Traceback")) == (0, 0), run.stderr
    metrics = json.loads(run.stdout)
    assert metrics["bundle"] == str(model)
    assert metrics["dev"]["accuracy"] == 1.0
    assert metrics["training"]["encoder"] == "embed-en"
    text = few_rows(2)[1].rpartition("\t")[0]
    answer = blocked("classify", text, "--model", model, "--json")
    assert json.loads(answer.stdout)["label"] == "right"
    measured = blocked("evaluate", model, "--data", place / "data" / "dev.tsv", "--json")
    assert json.loads(measured.stdout)["accuracy"] == 1.0
    fitted = blocked("calibrate", model, "--data", place / "data" / "train.tsv", "--json")
    assert fitted.returncode == 0, fitted.stderr
    for words in (["classify-few"], ["classify-few", "--json"]):
        assert blocked("recipes", *words).returncode == 0
    other = blocked("train", "esim", "--data", place / "data", "--output", tmp_path / "other")
    assert other.returncode == 2
    assert "softquery[train]" in other.stderr


@pytest.fixture(scope="module")
def trained(place):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOFTQUERY_HOME", str(place / "home"))
        return train(place / "data", place / "trained"), place / "trained"


def test_what_is_said(trained, place):
    answer, model = trained
    assert answer.code == 0
    assert answer.err.splitlines() == [
        f"reading {place}/data/train.tsv",
        f"reading {place}/data/dev.tsv",
        "classes: 2 (left, right)",
        "warning: 19 of 19 dev texts also stand in the training data",
        "encoder: embed-en (most texts are in English)",
        answer.err.splitlines()[5],
        f"bundle written: {model}",
    ]
    assert answer.err.splitlines()[5].startswith("20 settings tried on 60 texts out of fold: cost ")
    assert "on dev" in answer.out


def test_what_the_bundle_holds(trained):
    bundle = read_bundle(trained[1])
    assert (bundle.config.kind, bundle.config.base) == ("classifier", "embed-en")
    assert bundle.calibration["fitted_on"] == 60
    assert bundle.metrics["tune"]["n"] == 60
    assert bundle.metrics["training"]["learnt"] is True
    assert "embed-en, frozen; this bundle needs it to be installed" in bundle.card
    assert "19 of 19 dev texts also stand in the training data" in bundle.card
    with (bundle.path / "training" / "search.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    best = max(rows, key=lambda row: float(row["log_likelihood"]))
    assert len(rows) == 20
    assert float(best["temperature"]) == sq.load(bundle.path).calibration.temperature


def test_a_file_will_do_and_columns_may_have_other_names(place, tmp_path):
    file = tmp_path / "mails.csv"
    lines = [line.replace("\t", ",") for line in few_rows(30)]
    file.write_text("\n".join(["mail,kind", *lines]), encoding="utf-8")
    answer = train(file, tmp_path / "model", "--columns", "text=mail,label=kind")
    assert answer.code == 0, answer.err
    assert "out of fold" in answer.out
    assert "dev" not in read_bundle(tmp_path / "model").metrics


def test_the_language_chooses_the_encoder(place, tmp_path):
    lines = [f"我们{'好' * (n % 3)}我们\t{'一二'[n % 2]}" for n in range(30)]
    file = write_rows(tmp_path / "zh.tsv", [*lines, *few_rows(6, labels=("一", "二"))])
    answer = train(file, tmp_path / "model")
    assert "encoder: embed-zh (most texts are in Chinese)" in answer.err
    assert "warning: 6 of 36 texts are not in Chinese, and embed-zh reads no other" in answer.err


def test_settings_and_seed(place, tmp_path):
    answer = train(place / "data", tmp_path / "model", "--seed", "7", "--set", "head.costs=5",
                   "--set", "head.word_weights=0", "--set", "head.encoder=embed-zh")  # fmt: skip
    assert "encoder: embed-zh (as named)" in answer.err
    assert "1 setting tried on 60 texts out of fold: cost 5, words 0, " in answer.err
    training = read_bundle(tmp_path / "model").metrics["training"]
    assert (training["seed"], training["cost"], training["word_weight"]) == (7, 5.0, 0.0)


def test_one_row_per_label_is_learnt_and_told(place, tmp_path):
    file = write_rows(tmp_path / "two.tsv", few_rows(2))
    answer = train(file, tmp_path / "model", "--json")
    assert answer.code == 0, answer.err
    assert "warning: 2 labels have a single row (left, right)" in answer.err
    assert "warning: no label has two texts, so that nothing can be held out" in answer.err
    assert json.loads(answer.out)["training"]["learnt"] is None
    text, _, label = few_rows(2)[0].rpartition("\t")
    assert sq.load(tmp_path / "model").predict([text])[0].label == label


def test_contradictions_and_chance_are_told(place, tmp_path):
    same = [f"what is the same text\t{label}" for label in ("left", "right") * 10]
    answer = train(write_rows(tmp_path / "same.tsv", same), tmp_path / "model")
    assert answer.code == 0, answer.err
    assert "warning: 20 texts to train on contradict each other" in answer.err
    labels = [f"what is the wa wc here {'wd ' * (n % 7)}\t{'ab'[n // 3 % 2]}" for n in range(20)]
    noise = train(write_rows(tmp_path / "noise.tsv", labels), tmp_path / "noise")
    learnt = read_bundle(tmp_path / "noise").metrics["training"]["learnt"]
    assert learnt == ("this run has learnt nothing" not in noise.err)


def test_a_head_has_nothing_to_export(trained):
    answer = softquery("export", trained[1])
    assert (answer.code, "a head on a sentence encoder has no graphs" in answer.err) == (2, True)


def test_a_head_is_packed_and_served_as_any_model(trained, tmp_path):
    answer = softquery("models", "pack", trained[1], "--output", tmp_path, "--json")
    assert answer.code == 0, answer.err
    assert "needs torch" not in answer.err + answer.out


FRENCH = [f"je ne sais pas où est la {n}\t{'ab'[n % 2]}" for n in range(20)]
REFUSED = {
    "one class": (few_rows(9, labels=("left",)), [], "from 2 to 1,000 different labels, found 1"),
    "an empty text": ([*few_rows(4), " \tleft"], [], "train.tsv, row 6: text is empty"),
    "an empty label": ([*few_rows(4), "what\t "], [], "train.tsv, row 6: label is empty"),
    "no rows": ([], [], "train.tsv: holds no rows"),
    "an unknown encoder": (few_rows(9), ["--init", "embed-xx"], "no model called 'embed-xx'"),
    "another kind": (few_rows(9), ["--init", "nli-en"], "expected a sentence encoder, found kind"),
    "an unread language": (FRENCH, [], "most texts are in French, which no encoder here reads"),
    "no language": (["1\ta", "2\tb"], [], "the texts do not tell their language; name a sentence"),
    "a run to resume": (
        few_rows(9),
        ["--resume"],
        "--resume: classify-few takes seconds to a minute, and",
    ),
    "vectors": (few_rows(9), ["--vectors", "v.txt"], "--vectors: classify-few reads the vectors"),
    "devices": (
        few_rows(9),
        ["--devices", "2"],
        "--devices: classify-few takes seconds to a minute",
    ),
    "no cost": (few_rows(9), ["--set", "head.costs="], "costs must be positive numbers, got ()"),
    "a cost of 0": (few_rows(9), ["--set", "head.costs=0"], "costs must be positive numbers"),
    "one fold": (few_rows(9), ["--set", "head.num_folds=1"], "num_folds must be at least 2"),
    "no room": (few_rows(9), ["--set", "head.max_tokens=1"], "max_tokens must be at least 3"),
    "a seed": (few_rows(9), ["--seed", "-1"], "seed must be from 0 to 4,294,967,295"),
    "another's setting": (few_rows(9), ["--set", "optim.lr=1"], "unknown setting 'optim.lr'"),
}


@pytest.mark.parametrize("title", REFUSED)
def test_refused_in_a_line_and_nothing_left(place, tmp_path, title):
    lines, words, said = REFUSED[title]
    write_rows(tmp_path / "data" / "train.tsv", lines)
    answer = train(tmp_path / "data", tmp_path / "model", *words)
    assert answer.code == 2, answer.err
    last = answer.err.splitlines()[-1]
    assert said in last
    assert last.startswith("softquery: ")
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_too_many_rows_are_refused(place, tmp_path):
    file = write_rows(tmp_path / "train.tsv", few_rows(10_001))
    answer = train(file, tmp_path / "model")
    assert (answer.code, (tmp_path / "model").exists()) == (2, False)
    assert "10,001 rows are more than the 10,000 that classify-few fits at a time" in answer.err


def test_a_label_of_dev_that_train_lacks_is_refused(place, tmp_path):
    write_rows(tmp_path / "data" / "train.tsv", few_rows(9))
    write_rows(tmp_path / "data" / "dev.tsv", [*few_rows(3), "what is this\tup"])
    answer = train(tmp_path / "data", tmp_path / "model")
    assert answer.code == 2
    assert "dev.tsv, row 5: label 'up' is not one of left, right" in answer.err


def test_a_place_that_is_taken_is_refused(trained, place):
    answer = train(place / "data", trained[1])
    assert (answer.code, "already exists; name another --output" in answer.err) == (2, True)
