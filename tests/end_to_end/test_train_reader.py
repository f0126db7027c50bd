"""`softquery train reader` and its kin: from the command line to answers, with and without ELMo."""

import json
import re
import shutil
from dataclasses import asdict

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import assert_equal, config, metrics, weights
from running import DIES_AFTER_A_PART, DIES_AFTER_AN_EPOCH, finish, softquery, start, start_warm
from tiny_questions import chinese, english, settings, write_json, write_lines, write_questions

import softquery as sq
from small_elmo import write_elmo
from softquery.answers import ReadingRules
from softquery.bundle import read_bundle
from softquery.files import read_questions

LEARNT = {"training__max_epochs": 14, "optim__lr": 0.03, "data__tune_share": 0.1,
          "training__patience": 14, "model__dropout": 0.05, "training__average_decay": 0,
          "schedule__warmup_steps": 5, "model__num_layers": 1, "model__num_highways": 1,
          "data__batch_size": 16, "data__pad_multiple": 4}  # fmt: skip
SHORT = {**LEARNT, "training__max_epochs": 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    write_questions(folder / "data", english(90), num_dev=12)
    write_questions(folder / "unsure", english(90, unanswerable=True), num_dev=12)
    write_questions(folder / "zh", chinese(60), num_dev=10)
    write_elmo(folder / "bilm")
    return folder


def train(recipe, place, output, *words, data="data", **changes):
    return softquery("train", recipe, "--data", place / data, "--output", place / output,
                     *settings(**changes), *words)  # fmt: skip


@pytest.fixture(scope="module")
def reader(place):
    answer = train("reader", place, "reader", "--json", **LEARNT)
    assert answer.code == 0, answer.err
    return place / "reader", answer


@pytest.fixture(scope="module")
def exported(reader, place):
    answer = softquery("export", reader[0], "--output", place / "exported", "--json")
    assert answer.code == 0, answer.err
    return place / "exported"


def test_answers_are_learnt(reader):
    folder, answer = reader
    found = json.loads(answer.out)
    assert found["dev"]["f1"] > 0.8
    assert found["dev"]["n"] == 36
    assert found["dev"]["exact_match"] <= found["dev"]["f1"]
    assert read_bundle(folder).config.kind == "reader"
    assert config(folder)["task"] == {"name": "read", "no_answer": "never", "max_words": 20,
                                      "step": 256, "max_question": 40,
                                      "counting": "squad"}  # fmt: skip
    assert "softquery read" in (folder / "README.md").read_text()


def test_it_answers_without_torch_as_with_it(reader, exported):
    context = "In 1917, Cleo sang in Oslo. Nobody else did, of 7 people."
    asked = [("Who sang?", context), ("Where was it that Cleo sang?", context)]
    ours, theirs = sq.load(exported), sq.load(reader[0])
    assert (ours.backend.name, theirs.backend.name) == ("onnx", "torch on cpu")
    found = ours.predict(asked)
    assert [answer.text for answer in found] == ["Cleo", "Oslo"]
    for one, other in zip(found, theirs.predict(asked), strict=True):
        assert (one.text, one.start) == (other.text, other.start)
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_the_verb_prints_answers(exported, tmp_path):
    context = "In 1917, Cleo sang in Oslo. Nobody else did, of 7 people."
    answer = softquery("read", "Who sang?", "--context", context, "--model", exported)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("Cleo  (score ")
    assert "[Cleo] sang in Oslo." in answer.out
    (tmp_path / "context.txt").write_text(context + "\nMore.", encoding="utf-8")
    told = softquery("read", "Who sang?", "Where was it that Cleo sang?", "--json",
                     "--context", tmp_path / "context.txt", "--model", exported)  # fmt: skip
    records = json.loads(told.out)
    assert [record["answer"] for record in records] == ["Cleo", "Oslo"]
    assert records[0]["context"] == context + "\nMore."
    assert records[0]["context"][records[0]["start"] : records[0]["end"]] == "Cleo"


def test_the_verb_says_why(exported, tmp_path):
    answer = softquery("read", "Who sang?", "--context", "In 1917, Cleo sang.", "--model", exported,
                       "--explain", tmp_path / "why.html")  # fmt: skip
    assert answer.code == 0, answer.err
    assert f"why: {tmp_path / 'why.html'}" in answer.err
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "Cleo" in page
    assert "sang" in page


def test_a_file_is_answered_and_gone_on_with(exported, tmp_path):
    source = write_json(tmp_path / "in.json", english(60, seed=3))
    words = ("read", "--input", source, "--model", exported)
    whole = softquery(*words, "--output", tmp_path / "whole.jsonl", "--json")
    assert whole.code == 0, whole.err
    assert json.loads(whole.out)["num_rows"] == 180
    lines = (tmp_path / "whole.jsonl").read_bytes()
    again = (*words, "--output", tmp_path / "again.jsonl")
    assert finish(start_warm(*again, code=DIES_AFTER_A_PART)).code == 9
    resumed = softquery(*again)
    assert resumed.code == 0, resumed.err
    assert "(64 of them before)" in resumed.err
    assert (tmp_path / "again.jsonl").read_bytes() == lines
    printed = softquery(*words)
    assert printed.out.encode() == lines
    jsonl = write_lines(tmp_path / "in.jsonl", english(60, seed=3))
    told = softquery("read", "--input", jsonl, "--model", exported)
    assert told.out.encode() == lines


def test_bad_rows_are_skipped_where_that_is_asked_for(exported, tmp_path):
    paragraphs = english(2)
    paragraphs[0]["qas"][1]["question"] = " "
    source = write_json(tmp_path / "in.json", paragraphs)
    words = ("read", "--input", source, "--output", tmp_path / "out.jsonl", "--model", exported)
    stopped = softquery(*words)
    assert (stopped.code, stopped.out) == (2, "")
    assert "question 2 (id 0-where): the question is empty" in stopped.err
    told = softquery(*words, "--on-error", "skip")
    assert told.code == 0, told.err
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 5
    assert (tmp_path / "out.jsonl.errors.tsv").read_text() == (
        "row\treason\n1\tarticle 1, paragraph 1, question 2 (id 0-where): the question is empty\n"
    )


def test_evaluate_measures_answers(reader, exported, place):
    words = ("--data", place / "data/dev.json", "--slice", "length", "--slice", "question",
             "--errors", place / "mistakes.jsonl")  # fmt: skip
    answer = softquery("evaluate", exported, *words, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["f1"] == pytest.approx(metrics(reader[0])["dev"]["f1"], abs=0.03)
    assert sum(part["n"] for part in found["slices"]["question"]) == 36
    wrong = [json.loads(line) for line in (place / "mistakes.jsonl").read_text().splitlines()]
    assert len(wrong) == round(36 * (1 - found["exact_match"]))
    table = softquery("evaluate", exported, *words)
    assert "by question" in table.out
    swapped = softquery("evaluate", exported, "--data", place / "data/dev.json", "--order")
    assert "--order compares pairs; a reader reads one text" in swapped.err


def test_int8_stands_behind_the_gate(reader, place):
    answer = softquery("export", reader[0], "--output", place / "int8", "--int8", "--gate", "5",
                       "--data", place / "data/dev.json", "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert report["gate"]["metric"] == "f1"
    assert report["gate"]["n"] == 36
    assert report["precision"] == ("int8" if report["gate"]["accepted"] else "float32")
    table = softquery("export", reader[0], "--output", place / "int8-too", "--int8",
                      "--data", place / "data/dev.json")  # fmt: skip
    assert "f1, float32" in table.out


def test_that_there_may_be_no_answer_is_learnt(place):
    answer = train("reader", place, "unsure-reader", data="unsure", **LEARNT)
    assert answer.code == 0, answer.err
    assert "78 questions have no answer: that there may be none is learnt" in answer.err
    folder = place / "unsure-reader"
    assert config(folder)["task"]["no_answer"] == "learnt"
    found = metrics(folder)["dev"]["by_label"]
    assert found["unanswerable"]["f1"] > 0.8
    assert found["answerable"]["f1"] > 0.6
    context = "In 1917, Cleo sang in Oslo. Nobody else did, of 7 people."
    told = softquery("read", "Why so sad, Cleo?", "--context", context, "--model", folder)
    assert told.out.startswith("no answer  (score 0.")
    report = softquery("evaluate", folder, "--data", place / "unsure/dev.json", "--json")
    assert {"best_f1", "best_abstain_below", "by_label"} <= set(json.loads(report.out))
    chosen = softquery("calibrate", folder, "--data", place / "unsure/dev.json", "--json")
    assert chosen.code == 0, chosen.err
    saved = json.loads((folder / "calibration.json").read_text())
    assert saved == json.loads(chosen.out)
    assert sq.load(folder).abstain_below == saved["abstain_below"]


def test_chinese_is_read_by_characters(place):
    answer = train("reader-zh", place, "chinese", data="zh", **LEARNT, reading__consistency=1)
    assert answer.code == 0, answer.err
    assert metrics(place / "chinese")["dev"]["f1"] > 0.7
    assert config(place / "chinese")["task"]["counting"] == "cmrc"
    told = softquery("read", "王先生住在哪里？", "--context", "1911年，王先生住在京城，一共有3人。",
                     "--model", place / "chinese", "--json")  # fmt: skip
    assert json.loads(told.out)["answer"] == "京城"


def test_long_contexts_are_read_in_pages(place):
    answer = train("reader", place, "paged", "--set", "text.max_tokens=12", "--set",
                   "reading.step=6", **SHORT)  # fmt: skip
    assert answer.code == 0, answer.err
    assert "train: 70 contexts are longer than 12 words; read in windows" in answer.err
    counts = re.search(r"(\d+) questions to train on, (\d+) held back", answer.err)
    given = list(read_questions(place / "data" / "train.json"))
    assert counts is not None  # questions, and not the windows that they are asked of
    assert sum(map(int, counts.groups())) == len(given)
    told = softquery("read", "Who?", "--context", "Ada sang. " * 40, "--model", place / "paged")
    assert "1 context longer than 12 words, read in windows" in told.err


@pytest.mark.parametrize("no_answer", ["never", "learnt"])
def test_questions_that_are_left_out_are_not_trained_on(no_answer, tmp_path):
    """Not even where it is learnt that there is no answer: theirs exists, but stands nowhere."""
    paragraphs = english(40)
    for each in paragraphs[::2]:
        each["qas"][2]["answers"][0]["answer_start"] = -1
    write_questions(tmp_path / "data", paragraphs, num_dev=4)
    answer = train("reader", tmp_path, "model", **SHORT, training__max_steps=1,
                   reading__no_answer=no_answer)  # fmt: skip
    assert answer.code == 0, answer.err
    left_out = re.search(r"train: (\d+) questions are left out; no window holds", answer.err)
    counts = re.search(r"(\d+) questions to train on, (\d+) held back", answer.err)
    assert left_out is not None
    assert counts is not None
    assert 10 < int(left_out[1]) <= 18
    assert int(left_out[1]) + sum(map(int, counts.groups())) == 36 * 3


@pytest.mark.parametrize("consistency", [0, 1])
def test_a_run_is_resumed_to_the_same_weights(consistency, place):
    whole, parts = (place / f"{name}-{consistency}" for name in ("whole", "parts"))
    common = {**LEARNT, "training__max_epochs": 3, "reading__consistency": consistency}
    assert train("reader", place, whole.name, **common).code == 0
    words = ("train", "reader", "--data", place / "data", "--output", parts,
             *settings(**common))  # fmt: skip
    assert finish(start_warm(*words, code=DIES_AFTER_AN_EPOCH)).code == 9
    resumed = softquery(*words, "--resume")
    assert resumed.code == 0, resumed.err
    assert_equal(weights(parts), weights(whole), atol=1e-6)


def test_two_passes_that_must_agree(place):
    """Where nothing is dropped they do, and nothing changes; else it counts how much they must."""

    def made(dropout, consistency):
        name = f"agreeing-{dropout}-{consistency}"
        answer = train("reader", place, name, **{**LEARNT, "training__max_steps": 3,
                       "model__dropout": dropout}, reading__consistency=consistency)  # fmt: skip
        assert answer.code == 0, answer.err
        assert set(config(place / name)["task"]) == {"name", *asdict(ReadingRules())}
        return weights(place / name)

    assert_equal(made(0, 1), made(0, 0), atol=1e-4)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_equal(made(0.2, 1), made(0.2, 3), atol=1e-4)


def test_a_run_starts_from_another(reader, place):
    answer = train("reader", place, "started", "--init", reader[0], **SHORT, reading__consistency=1)
    assert answer.code == 0, answer.err
    ours = len(weights(reader[0]))
    assert f"started from {ours} of {ours} weights" in answer.err
    noted = json.loads((place / "started" / "training" / "run.json").read_text())
    assert (noted["reading"]["consistency"], noted["task"]["consistency"]) == (1, 1)
    assert config(place / "started")["task"] == config(reader[0])["task"]


@pytest.mark.parametrize(("places", "size"), [("input", 0), ("input,output", 5)])
def test_elmo_spells_words_by_their_own_characters(places, size, place):
    name = f"with-elmo-{size}"
    answer = train("reader-elmo", place, name, **SHORT, elmo__bundle=place / "bilm",
                   elmo__places=places, elmo__size=size)  # fmt: skip
    assert answer.code == 0, answer.err
    assert f"bilm: 8 wide{', projected to 5,' if size else ''} at the input" in answer.err
    ours, theirs = weights(place / name), weights(place / "bilm")
    for each, value in theirs.items():
        if not each.startswith("softmax."):
            assert (ours[f"embedder.bilm.{each}"] == value).all(), each
    (found,) = sq.load(place / name).predict([("Who?", "Xab reads in Xcd.")])
    assert found.text
    answer = softquery("export", place / name, "--output", place / f"{name}-onnx", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["precision"] == "float32"
    noted = metrics(place / name)["dev"]
    measured = softquery("evaluate", place / f"{name}-onnx", "--data", place / "data" / "dev.json",
                         "--json")  # fmt: skip
    assert json.loads(measured.out)["f1"] == pytest.approx(noted["f1"], abs=1e-6)


def test_what_was_exported_with_elmo_answers_without_torch(place):
    bundle = place / "alone"
    answer = train("reader-elmo", place, bundle.name, **SHORT, elmo__bundle=place / "bilm")
    assert answer.code == 0, answer.err
    answer = softquery("export", bundle, "--output", place / "alone-int8", "--json", "--int8",
                       "--data", place / "data" / "dev.json", "--gate", "100")  # fmt: skip
    assert json.loads(answer.out)["precision"] == "int8", answer.err
    answer = softquery("export", bundle, "--json")
    assert answer.code == 0, answer.err
    code = (
        "import sys\n"
        "for name in ('torch', 'jaxtyping', 'onnx'): sys.modules[name] = None\n"
        "from softquery.cli import main"
    )
    words = ["read", "--input", place / "data" / "dev.json", "--output", place / "alone.jsonl"]
    told = finish(start(*words, "--model", bundle, code=code))
    assert told.code == 0, told.err
    records = [json.loads(line) for line in (place / "alone.jsonl").read_text().splitlines()]
    theirs = sq.load(bundle, backend="torch")
    asked = [(record["question"], record["context"]) for record in records]
    for record, wanted in zip(records, theirs.predict(asked), strict=True):
        assert (record["answer"], record["start"]) == (wanted.text, wanted.start)
        assert record["score"] == pytest.approx(wanted.score, abs=1e-4)
    shown = softquery("read", "Who sang?", "--context", "In 1917, Cleo sang.", "--model", bundle,
                      "--explain", place / "elmo.html")  # fmt: skip
    assert shown.code == 0, shown.err
    assert "Cleo" in (place / "elmo.html").read_text(encoding="utf-8")


def test_a_base_of_the_zoo_is_named_and_not_copied(place, monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path))
    shutil.copytree(place / "bilm", tmp_path / "models" / "elmo-tiny")
    answer = train("reader-elmo", place, "head", **SHORT, elmo__bundle="elmo-tiny")
    assert answer.code == 0, answer.err
    assert config(place / "head")["base"] == "elmo-tiny"
    assert not [name for name in weights(place / "head") if name.startswith("embedder.bilm.")]
    (found,) = sq.load(place / "head").predict([("Who?", "Ada reads.")])
    assert found.text
    refused = softquery("export", place / "head", "--output", place / "head-onnx")
    assert refused.err.endswith("elmo-tiny: not exported yet; run `softquery export` on it\n")
    assert softquery("export", tmp_path / "models" / "elmo-tiny").code == 0
    assert softquery("export", place / "head", "--output", place / "head-onnx").code == 0
    assert sorted(each.name for each in (place / "head-onnx" / "onnx").glob("*.onnx")) == [
        "answer.onnx", "encode.onnx"
    ]  # fmt: skip
    ours = sq.load(place / "head-onnx")
    assert ours.backend.name == "onnx"
    assert ours.predict([("Who?", "Ada reads.")])[0].text == found.text


def test_elmo_reads_pages_without_their_ends(place):
    answer = train("reader-elmo", place, "ends", **SHORT, elmo__bundle=place / "bilm",
                   text__boundaries="true")  # fmt: skip
    assert answer.code == 2
    assert answer.err.endswith(
        "text.boundaries must be false: reader-elmo reads words without ends\n"
    )
