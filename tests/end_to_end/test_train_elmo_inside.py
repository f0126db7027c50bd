"""`softquery train esim-elmo`: a biLM inside a matcher, from the command line to an answer."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import assert_equal, weights
from running import DIES_AFTER_AN_EPOCH, finish, settings, softquery, start, start_warm
from safetensors.numpy import load_file
from tiny_pairs import inference, write_folder

import softquery as sq
from elmo_cases import ElmoCase
from small_elmo import write_elmo, write_esim_elmo
from softquery.bundle import read_bundle, write_bundle
from softquery.text import TextConfig, TextPipeline, spell_vocabulary


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    write_folder(folder / "data", inference(120), num_dev=20)
    write_elmo(folder / "bilm")
    return folder


def train(place, output, *words, **groups):
    changes = settings(training={"max_epochs": 2, "graphs": "auto"}, optim={"lr": 0.01}, **groups)
    return softquery("train", "esim-elmo", "--data", place / "data", "--output", place / output,
                     *changes, *words)  # fmt: skip


@pytest.fixture(scope="module")
def frozen(place):
    answer = train(place, "frozen", "--set", f"elmo.bundle={place / 'bilm'}",
                   "--set", "elmo.places=input,output")  # fmt: skip
    assert answer.code == 0, answer.err
    return answer


def test_a_frozen_bilm_stays_as_it_was_and_answers_come(frozen, place):
    answer = frozen
    assert "8 wide at the input and output, frozen" in answer.err
    ours, theirs = (load_file(place / n / "model.safetensors") for n in ("frozen", "bilm"))
    for name, value in theirs.items():
        if not name.startswith("softmax."):
            assert (ours[f"embedder.bilm.{name}"] == value).all(), name
    assert json.loads((place / "frozen/training/run.json").read_text())["elmo_weights"]
    nested = read_bundle(place / "frozen").config.model["config"]["embedder"]
    assert (nested["name"], nested["settings"]["places"]) == ("elmo", ["input", "output"])
    model = sq.load(place / "frozen")
    first, second = model.predict([("A man eats.", "Some man eats."), ("A man eats.", "No one.")])
    assert first.label in ("entailment", "neutral", "contradiction")
    assert first.probabilities != second.probabilities


def test_words_that_no_table_holds_are_spelt_as_they_are(frozen, place):
    assert len(load_file(place / "frozen" / "model.safetensors")["embedder.characters"]) == 0
    model = sq.load(place / "frozen")
    pairs = [("A man eats.", f"A {word} eats.") for word in ("qqqq", "zzzz")]
    one, other = model.predict(pairs)
    assert one.probabilities != pytest.approx(other.probabilities, abs=1e-6)
    ranked = model.rank(pairs[0][0], [second for _, second in pairs])
    scores = {each["text"]: each["score"] for each in ranked}
    for (_, second), answer in zip(pairs, (one, other), strict=True):
        assert scores[second] == pytest.approx(answer.probabilities["entailment"], abs=1e-5)
    shown = model.explain(*pairs[0])
    assert shown.second_tokens == ("<bos>", "A", "qqqq", "eats", ".", "<eos>")
    assert shown.probabilities == pytest.approx(one.probabilities, abs=1e-5)


def test_case_is_for_the_bilm_and_not_for_the_table(frozen, place):
    model = sq.load(place / "frozen")
    pipeline = model.pipeline
    assert pipeline.look_up(["A", "MAN"]) == pipeline.look_up(["a", "man"])
    assert pipeline.unk_id not in pipeline.look_up(["A", "man"])
    one, other = model.predict([("A man eats.", "A man eats."), ("A man eats.", "A MAN eats.")])
    assert one.probabilities != pytest.approx(other.probabilities, abs=1e-6)
    assert model.explain("A man", "A MAN").second_tokens == ("<bos>", "A", "MAN", "<eos>")


def test_what_was_asked_before_changes_no_bit(frozen, place):
    """So that a bulk run that was killed goes on to the same bytes."""
    pairs = [(f"A {who} eats.", f"Some {who} {deed}.") for who in ("man", "zebra", "gnu", "cat")
             for deed in ("eats", "sleeps", "runs", "zzz")]  # fmt: skip
    fresh, used = sq.load(place / "frozen"), sq.load(place / "frozen")
    used.probabilities([("Nobody sleeps at zzz.", "A woman, a gnu and a man run."), *pairs[:3]])
    assert (used.probabilities(pairs) == fresh.probabilities(pairs)).all()


def test_a_run_and_its_bundle_measure_the_same(frozen, place):
    answer = softquery("evaluate", place / "frozen", "--data", place / "data" / "dev.tsv", "--json")
    noted = read_bundle(place / "frozen").metrics["dev"]
    found = json.loads(answer.out)
    assert (found["accuracy"], found["n"]) == (noted["accuracy"], noted["n"])
    assert found["confusion"] == noted["confusion"]


def test_the_card_and_models_say_what_was_learnt_of_each_layer(frozen, place):
    bundle = read_bundle(place / "frozen")
    told = softquery("models", place / "frozen", "--json")
    mixes = json.loads(told.out)["layers"]
    assert [mix["place"] for mix in mixes] == ["input", "output"]
    for mix in mixes:
        learnt = load_file(bundle.weights_path)[f"embedder.mixes.{mix['place']}.weights"]
        raised = np.exp(learnt.astype(np.float64))
        np.testing.assert_allclose(mix["shares"], raised / raised.sum(), rtol=1e-6)
        assert f"| {mix['place']} | {mix['shares'][0]:.2f} |" in bundle.card
    assert softquery("models", place / "bilm", "--json").out.count('"layers": []') == 1


def test_a_vocabulary_that_is_spelt_beforehand_is_read_as_before(frozen, place, tmp_path):
    """Bundles that hold the characters of a closed vocabulary."""
    bundle = read_bundle(place / "frozen")
    words = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text)).vocabulary()
    weights = dict(bundle.read_weights())
    weights["embedder.characters"] = spell_vocabulary(words, 9)
    settings = dict(bundle.config.model["config"])
    settings["embedder"] = {**settings["embedder"], "num_types": len(words)}
    write_bundle(
        tmp_path / "closed",
        config=replace(bundle.config, model={"name": "esim", "config": settings}),
        tokenizer_json=bundle.tokenizer_path.read_text(),
        weights=weights,
        metrics={},
        card="# closed",
    )
    ours, theirs = sq.load(place / "frozen"), sq.load(tmp_path / "closed")
    known = [("a man eats.", "some man eats.")]  # in lower case, as the vocabulary has them
    assert theirs.predict(known)[0].probabilities == pytest.approx(
        ours.predict(known)[0].probabilities, abs=1e-6
    )
    one, other = theirs.predict([("A man eats.", f"A {word} eats.") for word in ("qq", "zz")])
    assert one.probabilities == pytest.approx(other.probabilities, abs=1e-7)


def test_a_run_goes_on_with_the_bilm_that_it_began_with(place, tmp_path):
    bilm = write_elmo(tmp_path / "bilm")
    words = ("train", "esim-elmo", "--data", place / "data", "--output", tmp_path / "parts",
             *settings(training={"max_epochs": 2, "graphs": "auto"}, optim={"lr": 0.01}),
             "--set", f"elmo.bundle={bilm}")  # fmt: skip
    whole = train(place, "whole", "--set", f"elmo.bundle={bilm}")
    assert whole.code == 0, whole.err
    assert finish(start_warm(*words, code=DIES_AFTER_AN_EPOCH)).code == 9
    shutil.move(bilm, tmp_path / "before")
    write_elmo(bilm, ElmoCase().build(seed=2))
    refused = softquery(*words, "--resume")
    assert refused.code == 2
    assert "the interrupted run had elmo_weights = " in refused.err
    shutil.rmtree(bilm)
    shutil.move(tmp_path / "before", bilm)
    resumed = softquery(*words, "--resume")
    assert resumed.code == 0, resumed.err
    assert_equal(weights(tmp_path / "parts"), weights(place / "whole"), atol=1e-6)


def test_a_tuned_bilm_learns(place):
    answer = train(place, "tuned", elmo={"bundle": place / "bilm", "tuning": "tuned",
                                         "places": "input", "beside_words": "false"})  # fmt: skip
    assert answer.code == 0, answer.err
    ours, theirs = (load_file(place / n / "model.safetensors") for n in ("tuned", "bilm"))
    name = "forwards.layers.0.input_weight"
    assert (ours[f"embedder.bilm.{name}"] != theirs[name]).any()
    assert not [name for name in ours if name.startswith("embedder.words")]


def test_init_takes_what_is_asked_of_the_bilm_from_the_bundle(place):
    asked = {"bundle": place / "bilm", "places": "output", "size": 5}
    assert train(place, "narrow", elmo=asked).code == 0
    answer = train(place, "further", "--init", place / "narrow", elmo={"bundle": place / "bilm"})
    assert answer.code == 0, answer.err
    assert "started from: elmo.places = ('output',), elmo.size = 5\n" in answer.err
    count = len(weights(place / "narrow"))
    assert f"started from {count} of {count} weights\n" in answer.err


def test_lower_layers_of_a_tuned_bilm_learn_more_slowly(place):
    theirs = weights(place / "bilm")

    def moved(name, layer_decay):
        answer = train(place, name, "--set", f"optim.layer_decay={layer_decay}",
                       elmo={"bundle": place / "bilm", "tuning": "tuned"})  # fmt: skip
        assert answer.code == 0, answer.err
        ours = weights(place / name)
        return [float(np.abs(ours[f"embedder.bilm.{part}"] - theirs[part]).mean())
                for part in ("reader.projection.weight", "forwards.layers.0.projection",
                             "backwards.layers.1.projection")]  # fmt: skip

    alike, slower = moved("alike", 1), moved("slower", 0.1)
    assert min(alike) > 0.2 * max(alike)
    reader, lower, higher = slower
    assert 0 < reader < 0.2 * lower < 0.04 * higher
    frozen = train(place, "none", "--set", "optim.layer_decay=0.1",
                   elmo={"bundle": place / "bilm"})  # fmt: skip
    assert frozen.code == 2
    assert "optim.layer_decay is for a BERT or a tuned biLM inside" in frozen.err


def test_sizes_around_a_bilm_may_need_too_much_memory(place):
    answer = train(place, "none", elmo={"bundle": place / "bilm"}, model={"hidden_size": 10**12})
    assert answer.code == 2
    said = "softquery: esim cannot be built: its sizes need too much memory"
    assert answer.err.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("elmo", "said"),
    [
        ({}, "esim-elmo needs a biLM; name its bundle with --set elmo.bundle=DIR"),
        ({"bundle": "none/such"}, "none/such: no such model folder"),
        ({"bundle": "BILM", "places": "output", "beside_words": "no"},
         "elmo: without a table of words there must be a mix at the input"),
        ({"bundle": "BILM", "size": 10**12}, "elmo: its sizes need too much memory"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(elmo, said, place):
    chosen = {key: place / "bilm" if value == "BILM" else value for key, value in elmo.items()}
    answer = train(place, "none", elmo=chosen)
    assert answer.code == 2
    assert answer.err.splitlines()[-1] == f"softquery: {said}"
    assert not (place / "none").exists()


def test_a_matcher_is_no_bilm(frozen, place):
    answer = train(place, "nested", elmo={"bundle": place / "frozen"})
    assert answer.code == 2
    assert answer.err.splitlines()[-1].endswith("expected an elmo, found 'esim'")


@pytest.fixture(scope="module")
def exported(frozen, place):
    answer = softquery("export", place / "frozen", "--output", place / "exported", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["precision"] == "float32"
    return place / "exported"


def test_what_was_exported_answers_without_torch(exported, place):
    dev = place / "data" / "dev.tsv"
    code = (
        "import sys\n"
        "for name in ('torch', 'jaxtyping', 'onnx'): sys.modules[name] = None\n"
        "from softquery.cli import main"
    )
    words = ["match", "--pairs", dev, "--output", place / "alone.jsonl", "--model", exported]
    answer = finish(start(*words, code=code))
    assert answer.code == 0, answer.err
    answers = [json.loads(line) for line in (place / "alone.jsonl").read_text().splitlines()]
    pairs = [(each["sentence1"], each["sentence2"]) for each in answers]
    for found, wanted in zip(answers, sq.load(place / "frozen").predict(pairs), strict=True):
        assert found["label"] == wanted.label
        assert found["probabilities"] == pytest.approx(wanted.probabilities, abs=1e-4)


def test_the_verbs_take_it(exported, place):
    noted = read_bundle(place / "frozen").metrics["dev"]
    answer = softquery("evaluate", exported, "--data", place / "data" / "dev.tsv", "--json")
    assert json.loads(answer.out)["accuracy"] == noted["accuracy"]
    (place / "documents.txt").write_text("Some man eats.\nNobody sleeps.\nA zebra runs.\n")
    answer = softquery("rank", "A man eats.", "--candidates", place / "documents.txt",
                       "--model", exported, "--json")  # fmt: skip
    assert (answer.code, len(json.loads(answer.out))) == (0, 3)
    answer = softquery("explain", "A man eats.", "A zebra runs.", "--model", exported,
                       "--output", place / "why.json")  # fmt: skip
    assert answer.code == 0, answer.err
    assert "zebra" in (place / "why.json").read_text()
    answer = softquery("embed", place / "documents.txt", "--model", exported, "--layers", "mix",
                       "--output", place / "vectors.npz")  # fmt: skip
    assert (answer.code, "mix of its own" in answer.err) == (0, False), answer.err


def test_int8_stands_before_its_gate(frozen, place):
    answer = softquery("export", place / "frozen", "--output", place / "int8", "--int8",
                       "--data", place / "data" / "dev.tsv", "--gate", "100", "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["precision"] == "int8"
    assert sq.load(place / "int8").predict([("A man eats.", "A zebra runs.")])


def test_a_closed_vocabulary_is_not_exported(place):
    write_esim_elmo(place / "closed")
    answer = softquery("export", place / "closed", "--output", place / "none")
    assert answer.code == 2
    assert answer.err == (
        f"softquery: {place / 'closed'}: a matcher whose ELMo spells a closed vocabulary runs on "
        "torch alone\n"
    )
    assert not (place / "none").exists()
