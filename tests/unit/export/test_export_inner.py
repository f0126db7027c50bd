"""A matcher with a biLM inside: its graphs, int8 behind the gate, a base, and no torch."""

import json
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from safetensors.numpy import load_file, save_file

from elmo_cases import ENTRIES
from small_bundles import WORDS, exported, labelled, random_pairs
from small_elmo import write_elmo, write_esim_elmo
from small_inner import BOTH, make_inner
from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.export import export_classifier, export_embedder, export_matcher
from softquery.export.match import measure_match_ranges
from softquery.models import CharacterConfig, Elmo, ElmoConfig, SoftmaxConfig
from softquery.runtime import load, open_embedder
from softquery.runtime.inner.inner_weights import base_weights

PAIRS = random_pairs(80, seed=5)


@pytest.fixture(scope="module")
def wide_bilm():
    """Wide enough for int8."""
    torch.manual_seed(3)
    config = ElmoConfig(
        hidden_size=64, projection_size=24, vocab_size=len(ENTRIES),
        characters=CharacterConfig(filters=(4, 4, 8, 8, 8, 8, 8)),
        softmax=SoftmaxConfig(kind="none"),
    )  # fmt: skip
    return Elmo(config)


@pytest.fixture(scope="module", params=["esim", "siamese"])
def wide(request, wide_bilm, tmp_path_factory):
    """A matcher, its float32 graphs, and rows on which they are right."""
    folder = tmp_path_factory.mktemp(request.param)
    elmo = BOTH if request.param == "esim" else {"places": ("input",)}
    path = make_inner(folder / "plain", request.param, elmo=elmo, bilm=wide_bilm, size=40)
    plain = exported(path, folder / "float32").bundle
    gold = [answer.label for answer in load(plain).predict(PAIRS)]
    assert len(set(gold)) > 1
    return path, plain, labelled(PAIRS, gold)


@pytest.fixture(scope="module")
def small(wide, tmp_path_factory):
    path, _, rows = wide
    target = tmp_path_factory.mktemp("int8") / "model"
    return exported(path, target, int8=True, limit=60, rows=rows)


def test_int8_within_the_gate_is_taken(wide, small):
    path, _, rows = wide
    assert (small.precision, small.gate.metric, small.gate.n) == ("int8", "accuracy", len(rows))
    assert small.gate.float32 == 1.0
    stored = load_file(small.bundle / "model.safetensors")
    names = {name for name, values in stored.items() if values.dtype == np.int8}
    assert {
        "embedder.words.table.weight",
        "encoder.forwards.weight_ih_l0",
        "encoder.backwards.weight_hh_l0",
        "embedder.bilm.forwards.layers.0.recurrent_weight",
        "embedder.bilm.backwards.layers.1.input_weight",
    } <= names
    assert not any("mixes" in name for name in names)
    whole = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    assert small.size_bytes < 0.6 * whole


def test_int8_answers_are_near_those_of_float32(wide, small):
    _, plain, _ = wide
    ours, theirs = load(small.bundle, threads=1), load(plain, threads=1)
    difference = np.abs(ours.probabilities(PAIRS) - theirs.probabilities(PAIRS))
    assert 0 < difference.max() < 0.5
    assert difference.mean() < 0.05
    alone = np.concatenate([ours.logits([pair]) for pair in PAIRS[:20]])
    np.testing.assert_allclose(alone, ours.logits(PAIRS)[:20], rtol=0, atol=0.02)


def narrowed(folder, name, bilm):
    """A model that reads projected vectors, by matrices that are large enough for int8."""
    places = ("input",) if name == "siamese" else ("input", "output")
    return make_inner(folder, name, elmo={"places": places, "size": 112}, bilm=bilm, size=40)


@pytest.mark.parametrize("name", ["esim", "siamese", "attentive"])
def test_projected_vectors_come_out_as_with_torch(name, wide_bilm, tmp_path):
    bundle = read_bundle(narrowed(tmp_path / "plain", name, wide_bilm))
    make = export_classifier if name == "attentive" else export_matcher
    assert make(bundle, tmp_path / "float32").difference <= 1e-5


def test_a_table_in_lower_case_stands_beside_a_bilm_that_reads_case(wide_bilm, tmp_path):
    """Both forms of a word are one row of the table, and two words to the biLM."""
    path = make_inner(tmp_path / "plain", bilm=wide_bilm, size=40, lowercase=True)
    assert export_matcher(read_bundle(path), tmp_path / "float32").difference <= 1e-5
    word = WORDS[0]
    pairs = [(word, word), (word, word.upper()), (word, f"{word}q"), (word, f"{word}Q")]
    ours = load(tmp_path / "float32", backend="onnx").logits(pairs)
    np.testing.assert_allclose(ours, load(path, backend="torch").logits(pairs), atol=1e-5)
    assert len(np.unique(ours.round(4), axis=0)) == len(pairs)
    stored = load_file(path / "model.safetensors")
    for place in BOTH["places"]:
        stored[f"embedder.mixes.{place}.scale"] = np.zeros((), np.float32)  # the table alone
    save_file(stored, path / "model.safetensors")
    known, shouted, *unknown = load(path, backend="torch").logits(pairs)
    np.testing.assert_array_equal(known, shouted)
    np.testing.assert_array_equal(*unknown)
    assert np.abs(known - unknown[0]).max() > 1e-4


@pytest.mark.parametrize("name", ["esim", "siamese"])
def test_projections_are_stored_as_int8(name, wide_bilm, tmp_path):
    path = narrowed(tmp_path / "plain", name, wide_bilm)
    plain = exported(path, tmp_path / "float32").bundle
    gold = [answer.label for answer in load(plain).predict(PAIRS)]
    small = exported(path, tmp_path / "int8", int8=True, limit=60, rows=labelled(PAIRS, gold))
    matrix = "embedder.projections.input.weight"
    stored = load_file(small.bundle / "model.safetensors")
    assert stored[matrix].dtype == np.int8
    difference = load(small.bundle).probabilities(PAIRS) - load(plain).probabilities(PAIRS)
    assert 0 < np.abs(difference).mean() < 0.05
    stored |= {matrix: stored[matrix][:7], f"{matrix}:scale": np.ones(7, np.float32)}
    save_file(stored, small.bundle / "model.safetensors")
    with pytest.raises(BundleError, match=rf"{matrix} is \(7, 48\), expected \(112, 48\)"):
        load(small.bundle, backend="onnx")


def test_int8_over_the_gate_is_refused_and_float32_kept(wide, tmp_path):
    path, plain, rows = wide
    report = exported(path, tmp_path / "out", int8=True, limit=-1.0, rows=rows)
    assert (report.precision, report.gate.accepted) == ("float32", False)
    files = [(each / "model.safetensors").read_bytes() for each in (plain, report.bundle)]
    assert files[0] == files[1]


def test_a_narrow_lstm_stays_float32_as_a_whole(wide_bilm, tmp_path):
    """Its inputs are many and its states few."""
    path = make_inner(tmp_path / "plain", bilm=wide_bilm, size=20)
    rows = labelled(PAIRS[:6], ["neutral", "entailment"] * 3)
    report = exported(path, tmp_path / "out", int8=True, limit=100, rows=rows)
    stored = load_file(report.bundle / "model.safetensors")
    kinds = {values.dtype.name for name, values in stored.items() if name.startswith("encoder.")}
    assert (report.precision, kinds) == ("int8", {"float32"})


def test_graphs_hold_no_weights(wide):
    _, plain, _ = wide
    used = json.loads((plain / "onnx" / "weights.json").read_text())
    assert sorted(used) == ["compare", "context", "encode", "read"]
    for name, wanted in used.items():
        graph = onnx.load_model_from_string((plain / "onnx" / f"{name}.onnx").read_bytes()).graph
        outside = [t for t in graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
        assert sorted(each.name for each in outside) == wanted
    graph = onnx.load_model_from_string((plain / "onnx" / "encode.onnx").read_bytes()).graph
    places = {"at_input", "at_output"} if "esim" in str(plain) else {"at_input"}
    assert {each.name for each in graph.input} == {"ids", "lengths", *places}


def test_a_range_for_what_is_laid_beside_the_states(tmp_path):
    """Also where the projection does not read the states as they are."""
    for parts in (("own", "aligned", "product"), ("aligned", "product")):
        path = make_inner(tmp_path / parts[0], elmo={"places": ("output",)}, parts=parts)
        stored = load_file(path / "model.safetensors")
        stored["embedder.mixes.output.scale"] = np.array(40, np.float32)
        save_file(stored, path / "model.safetensors")
        ranges = measure_match_ranges(load(path, backend="torch", device="cpu"), PAIRS[:9])
        assert ranges.states > 3


def test_exporting_what_was_exported_changes_nothing(wide, tmp_path):
    _, plain, _ = wide
    again = exported(plain, tmp_path / "again").bundle
    graphs = (f"onnx/{name}.onnx" for name in ("encode", "compare", "read", "context"))
    for name in ("config.json", "model.safetensors", *graphs):
        assert (again / name).read_bytes() == (plain / name).read_bytes(), name


def test_a_closed_vocabulary_runs_on_torch_alone(tmp_path):
    path = write_esim_elmo(tmp_path / "closed")
    said = "closed: a matcher whose ELMo spells a closed vocabulary runs on torch alone$"
    with pytest.raises(BundleError, match=said):
        exported(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (path / "onnx").mkdir()
    (path / "onnx" / "encode.onnx").write_bytes(b"junk")
    with pytest.raises(BundleError, match=said):
        load(path, backend="onnx")


def test_a_siamese_matcher_has_no_place_at_its_output(tmp_path):
    with pytest.raises(ValueError, match="^ELMo has a place at the input alone; nothing reads"):
        make_inner(tmp_path / "model", "siamese", elmo=BOTH)
    path = make_inner(tmp_path / "model", "siamese", elmo={"places": ("input",)})
    change(path, lambda inside: inside["settings"].update(places=["output"]))
    with pytest.raises(BundleError, match="siamese cannot be built: ELMo has a place at"):
        load(path, backend="torch")


class TestHead:
    """A matcher that names its biLM, and does not hold it."""

    @pytest.fixture
    def base(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path))
        (tmp_path / "models").mkdir()
        return write_elmo(tmp_path / "models" / "elmo-tiny")

    def test_it_stands_on_an_exported_base(self, base, tmp_path):
        head = make_inner(tmp_path / "head", base="elmo-tiny")
        assert not [name for name in load_file(head / "model.safetensors") if "bilm" in name]
        with pytest.raises(BundleError, match="elmo-tiny: not exported yet; run `softquery export"):
            exported(head, tmp_path / "out")
        export_embedder(read_bundle(base), base)
        report = exported(head, tmp_path / "out")
        assert report.difference <= 1e-5
        names = sorted(each.name for each in (report.bundle / "onnx").glob("*.onnx"))
        assert names == ["compare.onnx", "encode.onnx"]
        assert read_bundle(report.bundle).config.base == "elmo-tiny"
        wanted = load(head, backend="torch", device="cpu").logits(PAIRS)
        np.testing.assert_allclose(load(report.bundle).logits(PAIRS), wanted, rtol=0, atol=2e-5)

    def test_its_base_embeds_for_it(self, base, tmp_path):
        export_embedder(read_bundle(base), base)
        path = exported(make_inner(tmp_path / "head", base="elmo-tiny"), tmp_path / "out").bundle
        found = open_embedder(path)
        assert found.backend.name == "onnx"
        assert len(found.learnt_mix.weights) == 3
        (one,), (other,) = (each.embed(["w1 unheard"]) for each in (found, open_embedder(base)))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)

    def test_another_base_is_refused(self, base, tmp_path):
        export_embedder(read_bundle(base), base)
        path = exported(make_inner(tmp_path / "head", base="elmo-tiny"), tmp_path / "out").bundle
        stored = dict(base_weights(read_bundle(base)))
        stored["reader.bias"] = stored["reader.bias"] + 1
        save_file(stored, base / "model.safetensors")
        with pytest.raises(BundleError, match="out: its base elmo-tiny had other weights than"):
            load(path, backend="onnx")


def change(path, edit):
    config = json.loads((path / "config.json").read_text())
    edit(config["model"]["config"]["embedder"])
    (path / "config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    return exported(make_inner(folder / "plain"), folder / "model").bundle


@pytest.fixture
def damaged(sound, tmp_path):
    """A copy of an exported bundle, to be broken."""
    return shutil.copytree(sound, tmp_path / "model")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda inside: inside.pop("ends"), r"does not fit the graphs \(no 'ends'\)$"),
        (lambda inside: inside.update(ends="added"), "ends and text.boundaries contradict each"),
        (lambda inside: inside.update(ends=7), "embedder.ends must be there or added, got 7"),
        (lambda inside: inside["settings"].pop("places"), r"\(no 'places'\)$"),
        (lambda inside: inside["settings"].update(places=["input"]), r"onnx: cannot be run \("),
        (
            lambda inside: inside["settings"].update(places=["middle"]),
            r"middle\.weights'\)$",
        ),
        (lambda inside: inside.pop("config"), "expected an elmo inside, found no such config$"),
        (lambda inside: inside.update(name="bert"), r"in context \(elmo\), found 'bert'$"),
    ],
)
def test_a_config_that_lies_is_told_in_one_line(damaged, edit, said):
    change(damaged, edit)
    with pytest.raises(BundleError, match=said) as caught:
        load(damaged, backend="onnx")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("embedder.mixes.input.weights", lambda x: x * np.nan, "is not finite"),
        ("embedder.words.table.weight", lambda x: x[:-1], r"holds vectors of \d+ words"),
        ("embedder.words.table.weight", lambda x: x[0], "words.table.weight is no table"),
        ("embedder.bilm.reader.bias", lambda x: x[:2], "model.safetensors: does not fit|cannot be"),
        ("project.0.weight", lambda x: x[:, :12].copy(), r"onnx.*: cannot be run \("),
    ],
)
def test_weights_that_do_not_fit_are_told_in_one_line(damaged, name, edit, said):
    stored = load_file(damaged / "model.safetensors")
    stored[name] = edit(stored[name])
    save_file(stored, damaged / "model.safetensors")
    with pytest.raises(BundleError, match=said) as caught:
        load(damaged, backend="onnx")
    assert "\n" not in str(caught.value)


def test_it_answers_without_torch(sound):
    code = (
        "import sys\n"
        "for name in ('torch', 'jaxtyping', 'onnx', 'lightning_fabric'): sys.modules[name] = None\n"
        "import softquery as sq\n"
        f"model = sq.load({str(sound)!r})\n"
        "print(model.predict([('w1 w2 unheard', 'w3')])[0].score)\n"
        "print(model.rank('w1', ['w2', 'w3 w4'], encodings=model.encodings(['w2', 'w3 w4']))[0])\n"
        "print(model.explain('w1 odd', 'w2').first_tokens)\n"
        "from softquery.cli import main\n"
        f"sys.argv = ['softquery', 'match', 'w1', 'w2', '--model', {str(sound)!r}, '--json']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = load(sound.parent / "plain", backend="torch", device="cpu")
    score, ranked, tokens, line = done.stdout.splitlines()
    first = wanted.predict([("w1 w2 unheard", "w3")])[0]
    assert float(score) == pytest.approx(first.score, abs=1e-5)
    assert wanted.rank("w1", ["w2", "w3 w4"])[0]["text"] in ranked
    assert tokens == "('<bos>', 'w1', 'odd', '<eos>')"
    assert json.loads(line)["label"] == wanted.predict([("w1", "w2")])[0].label
