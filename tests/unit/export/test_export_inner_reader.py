"""A reader with a biLM inside: its graphs, int8 behind the gate, a base, windows, and no torch."""

import json
import shutil
import subprocess
import sys
from itertools import islice

import numpy as np
import onnx
import pytest
import torch
from safetensors.numpy import load_file, save_file

from elmo_cases import ENTRIES
from small_elmo import write_elmo
from small_readers import answered, exported_reader, make_reader, random_questions
from softquery.answers import make_windows
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.export import export_embedder
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.runtime import load
from softquery.runtime.bulk import BulkAnswers, answer_rows
from softquery.runtime.read.model import CHUNK

BOTH = {"places": ("input", "output")}
PAIRS = random_questions(24, seed=5)
CLOSE = {"rtol": 0, "atol": 2e-5}


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A reader wide enough for int8, its float32 graphs, and rows on which they are right."""
    folder = tmp_path_factory.mktemp("wide")
    torch.manual_seed(3)
    sizes = ElmoConfig(
        hidden_size=64, projection_size=24, vocab_size=len(ENTRIES),
        characters=CharacterConfig(filters=(4, 4, 8, 8, 8, 8, 8)),
        softmax=SoftmaxConfig(kind="none"),
    )  # fmt: skip
    narrowed = {**BOTH, "size": 96}
    path = make_reader(folder / "plain", elmo=narrowed, bilm=Elmo(sizes), size=64)
    return path, exported_reader(path, folder / "float32").bundle, answered(PAIRS)


@pytest.fixture(scope="module")
def small(wide, tmp_path_factory):
    path, _, rows = wide
    target = tmp_path_factory.mktemp("int8") / "model"
    return exported_reader(path, target, int8=True, limit=100, rows=rows)


def scored(reader, pairs=PAIRS):
    windows = make_windows(pairs, reader.pipeline, reader.window).windows
    return [np.stack(each[:2]) for each in reader.backend.scores(windows)]


def test_int8_within_the_gate_is_taken(wide, small):
    path, _, rows = wide
    assert (small.precision, small.gate.metric, small.gate.n) == ("int8", "f1", len(rows))
    stored = load_file(small.bundle / "model.safetensors")
    names = {name for name, values in stored.items() if values.dtype == np.int8}
    assert {
        "embedder.words.table.weight",
        "encoder.forwards.weight_ih_l0",
        "modelling.0.backwards.weight_hh_l0",
        "highways.0.gate.weight",
        "embedder.projections.output.weight",
        "embedder.bilm.forwards.layers.0.recurrent_weight",
        "embedder.bilm.backwards.layers.1.input_weight",
    } <= names
    assert not any("mixes" in name for name in names)
    whole = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    assert small.size_bytes < 0.4 * whole


def test_int8_over_the_gate_is_refused_and_float32_kept(wide, tmp_path):
    path, plain, rows = wide
    report = exported_reader(path, tmp_path / "out", int8=True, limit=-101, rows=rows)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    files = [(each / "model.safetensors").read_bytes() for each in (plain, report.bundle)]
    assert files[0] == files[1]


def test_int8_scores_are_near_those_of_float32(wide, small):
    ours, theirs = (np.concatenate(scored(load(each)), axis=1) for each in (small.bundle, wide[1]))
    assert 0 < np.abs(ours - theirs).mean() < 0.2 * theirs.std()


def test_company_and_padding_change_no_answer(wide, small):
    for path, close in ((wide[1], 2e-5), (small.bundle, 0.02)):
        reader = load(path, threads=1)
        together = reader.predict(PAIRS)
        for pair, wanted in zip(PAIRS, together, strict=True):
            (alone,) = reader.predict([pair])
            assert (alone.text, alone.start) == (wanted.text, wanted.start)
            assert alone.score == pytest.approx(wanted.score, abs=close)
        again = load(path, threads=3)
        assert again.backend.name == "onnx"
        for one, other in zip(scored(again), scored(reader), strict=True):
            assert (one == other).all()


def test_what_was_asked_before_changes_no_bit(wide):
    fresh, used = load(wide[1]), load(wide[1])
    used.predict([("gnu zebra w4", "unheard w9 w1 gnu"), *PAIRS[3:7]])
    for one, other in zip(scored(used), scored(fresh), strict=True):
        assert (one == other).all()


def test_long_contexts_are_read_in_pages(wide):
    path, plain, _ = wide
    ours, theirs = load(plain), load(path, backend="torch", device="cpu")
    pairs = random_questions(4, seed=8, longest=150)
    assert ours.num_long([context for _, context in pairs])
    for one, other in zip(ours.predict(pairs), theirs.predict(pairs), strict=True):
        assert (one.text, one.start, one.end) == (other.text, other.start, other.end)
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_explanations_are_those_of_torch(wide):
    path, plain, _ = wide
    question, context = "w1 unheard w2", " ".join(f"w{place % 50} odd" for place in range(40))
    ours, theirs = (
        reader.explain(question, context)
        for reader in (load(plain), load(path, backend="torch", device="cpu"))
    )
    assert ours.second_tokens == theirs.second_tokens
    np.testing.assert_allclose(ours.first_to_second, theirs.first_to_second, rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.second_to_first, theirs.second_to_first, rtol=0, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_bulk_run_goes_on_to_the_same_bytes(wide, tmp_path, threads):
    rows = answered(random_questions(CHUNK + 20, seed=6, longest=9))

    def answers():
        return BulkAnswers(load(wide[1], threads=threads))

    def stopping():
        yield from islice(rows, CHUNK + 1)
        raise KeyboardInterrupt

    answer_rows(BulkAnswers(load(wide[1])), rows, tmp_path / "whole.jsonl")
    with pytest.raises(KeyboardInterrupt):
        answer_rows(answers(), stopping(), tmp_path / "out.jsonl")
    result = answer_rows(answers(), rows, tmp_path / "out.jsonl")
    assert (result.num_rows, result.num_resumed) == (len(rows), CHUNK)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_graphs_hold_no_weights(wide):
    _, plain, _ = wide
    used = json.loads((plain / "onnx" / "weights.json").read_text())
    assert sorted(used) == ["answer", "context", "encode", "read"]
    for name, wanted in used.items():
        graph = onnx.load_model_from_string((plain / "onnx" / f"{name}.onnx").read_bytes()).graph
        outside = [t for t in graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
        assert sorted(each.name for each in outside) == wanted
    graph = onnx.load_model_from_string((plain / "onnx" / "encode.onnx").read_bytes()).graph
    assert {each.name for each in graph.input} == {
        "words", "lengths", "places", "characters", "at_input", "at_output"
    }  # fmt: skip


def test_exporting_what_was_exported_changes_nothing(wide, tmp_path):
    _, plain, rows = wide
    again = exported_reader(plain, tmp_path / "again").bundle
    graphs = (f"onnx/{name}.onnx" for name in ("encode", "answer", "read", "context"))
    for name in ("config.json", "model.safetensors", *graphs):
        assert (again / name).read_bytes() == (plain / name).read_bytes(), name


def test_the_bilm_matters(wide, tmp_path):
    """Or else all of the above would be about words alone."""
    path = shutil.copytree(wide[1], tmp_path / "model")
    before = scored(load(path))
    stored = load_file(path / "model.safetensors")
    stored["embedder.bilm.forwards.layers.1.recurrent_weight"] *= 3
    save_file(stored, path / "model.safetensors")
    changed = zip(scored(load(path)), before, strict=True)
    assert max(np.abs(one - other).max() for one, other in changed) > 1e-4


class TestHead:
    """A reader that names its biLM, and does not hold it."""

    @pytest.fixture
    def base(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path))
        (tmp_path / "models").mkdir()
        return write_elmo(tmp_path / "models" / "elmo-tiny")

    def test_it_stands_on_an_exported_base(self, base, tmp_path):
        head = make_reader(tmp_path / "head", elmo=BOTH, base="elmo-tiny")
        assert not [name for name in load_file(head / "model.safetensors") if "bilm" in name]
        with pytest.raises(BundleError, match="elmo-tiny: not exported yet; run `softquery export"):
            exported_reader(head, tmp_path / "out")
        export_embedder(read_bundle(base), base)
        report = exported_reader(head, tmp_path / "out")
        assert report.difference <= 1e-5
        names = sorted(each.name for each in (report.bundle / "onnx").glob("*.onnx"))
        assert names == ["answer.onnx", "encode.onnx"]
        wanted = scored(load(head, backend="torch", device="cpu"))
        for one, other in zip(scored(load(report.bundle)), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)

    def test_another_base_is_refused(self, base, tmp_path):
        export_embedder(read_bundle(base), base)
        head = make_reader(tmp_path / "head", elmo=BOTH, base="elmo-tiny")
        path = exported_reader(head, tmp_path / "out").bundle
        stored = load_file(base / "model.safetensors")
        stored["reader.bias"] += 1
        save_file(stored, base / "model.safetensors")
        with pytest.raises(BundleError, match="out: its base elmo-tiny had other weights than"):
            load(path, backend="onnx")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    return exported_reader(make_reader(folder / "plain", elmo=BOTH), folder / "model").bundle


@pytest.fixture
def damaged(sound, tmp_path):
    """A copy of an exported bundle, to be broken."""
    return shutil.copytree(sound, tmp_path / "model")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda inside: inside.pop("ends"), r"does not fit the graphs \(no 'ends'\)$"),
        (lambda inside: inside.update(ends="there"), r"\(windows come without their ends\)$"),
        (lambda inside: inside.update(ends=7), "embedder.ends must be there or added, got 7"),
        (lambda inside: inside["settings"].pop("places"), r"\(no 'places'\)$"),
        (lambda inside: inside["settings"].update(places=["input"]), r"onnx: cannot be run \("),
        (lambda inside: inside["settings"].update(places=["middle"]), r"middle\.weights'\)$"),
        (lambda inside: inside.pop("config"), "expected an elmo inside, found no such config$"),
        (lambda inside: inside.update(name="bert"), r"in context \(elmo\), found 'bert'$"),
        (
            lambda inside: inside.update(num_types=4),
            "model: a reader whose ELMo spells a closed vocabulary runs on torch alone$",
        ),
    ],
)
def test_a_config_that_lies_is_told_in_one_line(damaged, edit, said):
    config = json.loads((damaged / "config.json").read_text())
    edit(config["model"]["config"]["embedder"])
    (damaged / "config.json").write_text(json.dumps(config))
    with pytest.raises(BundleError, match=said) as caught:
        load(damaged, backend="onnx")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("embedder.mixes.input.weights", lambda x: x * np.nan, "is not finite"),
        ("embedder.words.table.weight", lambda x: x[:-1], "holds vectors of 63 words, but"),
        ("embedder.bilm.reader.bias", lambda x: x[:2], "model.safetensors: does not fit|cannot be"),
        ("head.start.weight", lambda x: x[:, :12].copy(), r"onnx.*: cannot be run \("),
    ],
)
def test_weights_that_do_not_fit_are_told_in_one_line(damaged, name, edit, said):
    stored = load_file(damaged / "model.safetensors")
    stored[name] = edit(stored[name])
    save_file(stored, damaged / "model.safetensors")
    with pytest.raises(BundleError, match=said) as caught:
        load(damaged, backend="onnx")
    assert "\n" not in str(caught.value)


def test_it_answers_without_torch(sound, tmp_path):
    why = tmp_path / "why.json"
    code = (
        "import sys\n"
        "for name in ('torch', 'jaxtyping', 'onnx', 'lightning_fabric'): sys.modules[name] = None\n"
        "import softquery as sq\n"
        f"model = sq.load({str(sound)!r})\n"
        "print(model.predict([('w1 unheard', 'w2 w3 odd w4')])[0].score)\n"
        "from softquery.cli import main\n"
        "sys.argv = ['softquery', 'read', 'w1 w2', '--context', 'w3 odd w4 w5', '--json',\n"
        f"            '--model', {str(sound)!r}, '--explain', {str(why)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = load(sound.parent / "plain", backend="torch", device="cpu")
    score, line = done.stdout.splitlines()
    (first,) = wanted.predict([("w1 unheard", "w2 w3 odd w4")])
    assert float(score) == pytest.approx(first.score, abs=1e-5)
    (answer,) = wanted.predict([("w1 w2", "w3 odd w4 w5")])
    assert json.loads(line)["answer"] == answer.text
    assert "odd" in why.read_text()
