"""`softquery train tagger` and its kin: from the command line to tags, with and without ELMo."""

import json
import shutil

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import assert_equal, config, metrics, weights
from running import DIES_AFTER_A_PART, DIES_AFTER_AN_EPOCH, finish, softquery, start_warm
from tiny_tags import named, parts_of_speech, settings, write_columns, write_tagged

import softquery as sq
from small_elmo import write_elmo
from softquery.bundle import read_bundle

LEARNT = {"training__max_epochs": 12, "optim__lr": 0.02, "data__tune_share": 0.1,
          "training__patience": 12, "model__dropout": 0.1}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    write_tagged(folder / "data", named(160))
    write_tagged(folder / "pos-data", parts_of_speech(160), ending=".conllu")
    write_elmo(folder / "bilm")
    return folder


def train(recipe, place, output, *words, data="data", **changes):
    return softquery("train", recipe, "--data", place / data, "--output", place / output,
                     *settings(**changes), *words)  # fmt: skip


@pytest.fixture(scope="module")
def tagger(place):
    answer = train("tagger", place, "tagger", "--json", **LEARNT)
    assert answer.code == 0, answer.err
    return place / "tagger", answer


def test_names_are_learnt(tagger):
    folder, answer = tagger
    assert "tags: iob1, 9 to learn (O, B-LOC, I-LOC, E-LOC, S-LOC, B-PER" in answer.err
    found = json.loads(answer.out)
    assert found["dev"]["f1"] > 0.9
    assert found["dev"]["n"] == 20
    assert read_bundle(folder).config.kind == "tagger"
    assert config(folder)["task"]["written"] == "iob2"


def test_it_tags_words_that_it_never_saw(tagger):
    model = sq.load(tagger[0])
    (answer,) = model.predict([["Ada", "Brook", "reads", "today", "in", "Rome", "."]])
    assert answer.tags == ("B-PER", "I-PER", "O", "O", "O", "B-LOC", "O")
    assert [tuple(span) for span in answer.spans] == [("PER", 0, 2), ("LOC", 5, 6)]
    unseen = model.predict(["Zoë Brook reads today."])[0]
    assert unseen.tokens == ("Zoë", "Brook", "reads", "today", ".")
    assert unseen.source == "Zoë Brook reads today."


def test_the_verb_prints_tags(tagger):
    answer = softquery("tag", "Ada Brook reads today in Rome .", "--model", tagger[0])
    assert answer.out == "[Ada Brook PER] reads today in [Rome LOC] .\n"
    answer = softquery("tag", "Ada reads", "Bo reads", "--model", tagger[0], "--json")
    assert [record["tags"][0] for record in json.loads(answer.out)] == ["B-PER", "B-PER"]


def test_a_file_is_tagged_and_gone_on_with(tagger, place, tmp_path):
    source = write_columns(tmp_path / "in.conll", named(600, seed=3))
    whole = softquery("tag", "--input", source, "--output", tmp_path / "whole.jsonl",
                      "--model", tagger[0])  # fmt: skip
    assert whole.code == 0, whole.err
    assert "600 texts tagged" in whole.err
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    assert set(json.loads(lines[0])) == {"tokens", "tags", "spans"}
    shutil.copy(tmp_path / "whole.jsonl", tmp_path / "again.jsonl.partial")
    (tmp_path / "again.jsonl.partial").write_bytes(b"".join(lines[:300]))
    noted = softquery("tag", "--input", source, "--output", tmp_path / "again.jsonl",
                      "--model", tagger[0])  # fmt: skip
    assert "was written with another model or backend" in noted.err
    (tmp_path / "again.jsonl.partial").unlink()
    words = ("tag", "--input", source, "--output", tmp_path / "again.jsonl", "--model", tagger[0])
    assert finish(start_warm(*words, code=DIES_AFTER_A_PART)).code == 9
    resumed = softquery(*words)
    assert resumed.code == 0, resumed.err
    assert "(256 of them before)" in resumed.err
    assert (tmp_path / "again.jsonl").read_bytes() == b"".join(lines)


def test_evaluate_measures_spans(tagger, place):
    answer = softquery("evaluate", tagger[0], "--data", place / "data" / "dev.txt", "--json",
                       "--slice", "length", "--errors", place / "mistakes.jsonl")  # fmt: skip
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["f1"] == metrics(tagger[0])["dev"]["f1"]
    assert sum(part["n"] for part in found["slices"]["length"]) == 20
    assert set(found["by_label"]) <= {"LOC", "PER"}
    table = softquery("evaluate", tagger[0], "--data", place / "data" / "dev.txt")
    assert "by label" in table.out


def test_parts_of_speech_are_learnt(place):
    answer = train("pos", place, "pos", data="pos-data", **LEARNT)
    assert answer.code == 0, answer.err
    assert metrics(place / "pos")["dev"]["accuracy"] > 0.9
    assert "f1" not in metrics(place / "pos")["dev"]
    told = softquery("tag", "Ada reads .", "--model", place / "pos")
    assert told.out == "Ada/PROPN reads/VERB ./PUNCT\n"


def test_a_run_is_resumed_to_the_same_weights(place):
    common = {**LEARNT, "training__max_epochs": 3}
    assert train("tagger", place, "whole", **common).code == 0
    stopped = train("tagger", place, "halves", "--set", "training.max_steps=20", **common)
    assert stopped.code == 0
    words = ("train", "tagger", "--data", place / "data", "--output", place / "parts",
             *settings(**common))  # fmt: skip
    assert finish(start_warm(*words, code=DIES_AFTER_AN_EPOCH)).code == 9
    resumed = softquery(*words, "--resume")
    assert resumed.code == 0, resumed.err
    assert_equal(weights(place / "parts"), weights(place / "whole"), atol=1e-6)


def test_a_run_starts_from_another(tagger, place):
    answer = train("tagger", place, "started", "--init", tagger[0], **{**LEARNT,
                   "training__max_epochs": 1})  # fmt: skip
    assert answer.code == 0, answer.err
    ours = len(weights(tagger[0]))
    assert f"started from {ours} of {ours} weights" in answer.err


def test_elmo_spells_words_by_their_own_characters(place):
    answer = train("tagger-elmo", place, "with-elmo", **LEARNT, elmo__bundle=place / "bilm",
                   elmo__places="input,output")  # fmt: skip
    assert answer.code == 0, answer.err
    assert "8 wide at the input and output, frozen" in answer.err
    ours, theirs = weights(place / "with-elmo"), weights(place / "bilm")
    for name, value in theirs.items():
        if not name.startswith("softmax."):
            assert (ours[f"embedder.bilm.{name}"] == value).all(), name
    assert len(ours["embedder.characters"]) == 0
    nested = config(place / "with-elmo")["model"]["config"]["embedder"]
    assert nested["settings"]["bundle"] == "bilm"
    model = sq.load(place / "with-elmo")
    one, other = (model.backend.scores([[word, "reads"]])[0][0] for word in ("Xab", "Xcd"))
    assert abs(one - other).max() > 1e-6  # two words that no table holds


def test_a_base_of_the_zoo_is_named_and_not_copied(place, monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path))
    shutil.copytree(place / "bilm", tmp_path / "models" / "elmo-tiny")
    short = {**LEARNT, "training__max_epochs": 1}
    answer = train("tagger-elmo", place, "head", **short, elmo__bundle="elmo-tiny")
    assert answer.code == 0, answer.err
    assert config(place / "head")["base"] == "elmo-tiny"
    assert not [name for name in weights(place / "head") if name.startswith("embedder.bilm.")]
    inside = train("tagger-elmo", place, "inside", **short, elmo__bundle=place / "bilm")
    assert inside.code == 0, inside.err
    texts = [["Ada", "reads"], ["Zoë"]]
    head, whole = sq.load(place / "head"), sq.load(place / "inside")
    for one, other in zip(head.backend.scores(texts)[0], whole.backend.scores(texts)[0],
                          strict=True):  # fmt: skip
        assert abs(one - other).max() < 1e-6
    write_elmo(tmp_path / "other", hidden_size=8)
    shutil.rmtree(tmp_path / "models" / "elmo-tiny")
    gone = softquery("tag", "Ada", "--model", place / "head")
    assert (gone.code, gone.out) == (2, "")
    assert "no model called 'elmo-tiny'" in gone.err


def test_projected_vectors_come_out_as_with_torch(place):
    changes = {**LEARNT, "training__max_epochs": 1, "elmo__bundle": place / "bilm"}
    answer = train("tagger-elmo", place, "narrow", **changes, elmo__places="input,output",
                   elmo__size=5)  # fmt: skip
    assert answer.code == 0, answer.err
    assert weights(place / "narrow")["embedder.projections.output.weight"].shape == (5, 8)
    answer = softquery("export", place / "narrow", "--output", place / "narrow-onnx", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["difference"] <= 1e-5
    refused = train("tagger-elmo", place, "none", **changes, elmo__size=-1)
    assert refused.code == 2
    assert "elmo.size: size must not be negative, got -1" in refused.err


@pytest.mark.parametrize("layers", ["last", "all"])
def test_a_tuned_bilm_learns(layers, place):
    changes = {**LEARNT, "training__max_epochs": 1, "elmo__bundle": place / "bilm",
               "elmo__tuning": "tuned", "elmo__layers": layers}  # fmt: skip
    answer = train("tagger-elmo", place, f"tuned-{layers}", **changes)
    assert answer.code == 0, answer.err
    ours, theirs = weights(place / f"tuned-{layers}"), weights(place / "bilm")
    name = "forwards.layers.0.input_weight"
    assert (ours[f"embedder.bilm.{name}"] != theirs[name]).any()


def test_a_share_of_the_sentences(place):
    answer = train("tagger", place, "share", **{**LEARNT, "training__max_epochs": 1},
                   data__share=0.1)  # fmt: skip
    assert "13 sentences to train on, 14 held back to tune by" in answer.err
