"""`softquery embed` as users type it, from published weights, from int8, and on odd text."""

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from reading import config, metrics, weights
from running import finish, settings, softquery, start
from tiny_pairs import inference, write_folder
from tiny_text import settings as text_settings
from tiny_text import write_text

import softquery as sq
from published_elmo import Oracle, options_of, random_arrays, write_published
from shared_data import shared_data
from small_elmo import exported_elmo, write_esim_elmo
from softquery.runtime.embed.model import CHUNK_LINES

LINES = ["A cat sat on the mat.", "", "The dog ran!", "Another cat sat."]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return exported_elmo(tmp_path_factory.mktemp("embed")).bundle


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n\n\n")
    return tmp_path


def embed(model, *words, output="v.npz"):
    answer = softquery("embed", *words, "--model", model, "--output", output)
    assert answer.code == 0, answer.err
    return answer


def arrays(path="v.npz"):
    with np.load(path) as opened:
        return [opened[name] for name in opened.files]


def same(found, wanted, **close):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, **({"rtol": 0, "atol": 1e-6} | close))


def test_one_array_a_line(model, place):
    answer = embed(model, "lines.txt", "--json")
    assert json.loads(answer.out) == {
        "output": "v.npz", "num_rows": 4, "num_tokens": 15, "num_resumed": 0, "num_cut": 0,
        "num_skipped": 0,
    }  # fmt: skip
    assert answer.err == "4 lines, 15 words: v.npz\n"
    same(arrays(), sq.load(model).embed(LINES))
    assert sorted(path.name for path in place.iterdir()) == ["lines.txt", "v.npz"]


@pytest.mark.parametrize("name", ["lines.txt.gz", "lines.txt.xz", "lines.tsv", "lines.jsonl.gz"])
def test_any_file(model, place, name):
    content = {
        "lines.txt.gz": gzip.compress("\n".join(LINES).encode()),
        "lines.txt.xz": lzma.compress("\n".join(LINES).encode()),
        "lines.tsv": ("n\tsaid\n" + "".join(f"1\t{line}\n" for line in LINES)).encode(),
        "lines.jsonl.gz": gzip.compress(
            "".join(json.dumps({"said": line}) + "\n" for line in LINES).encode()
        ),
    }[name]
    (place / name).write_bytes(content)
    embed(model, name, *([] if ".txt" in name else ["--columns", "text=said"]))
    same(arrays(), sq.load(model).embed(LINES))


def test_words_are_not_cut_again(model, place):
    (place / "words.jsonl").write_text('{"tokens": ["A cat", "don\'t"]}\n{"text": "A cat"}\n')
    embed(model, "words.jsonl")
    same(arrays(), sq.load(model).embed([["A cat", "don't"], "A cat"]))
    assert [each.shape[1] for each in arrays()] == [2, 2]


@pytest.mark.parametrize("layers", ["mix", "average", "top", "0"])
def test_layers(model, place, layers):
    answer = embed(model, "lines.txt", "--layers", layers, "--precision", "float16")
    chosen = int(layers) if layers.isdigit() else layers
    found = arrays()
    same(found, sq.load(model).embed(LINES, layers=chosen), atol=1e-3)
    assert {(len(each), each.dtype.name) for each in found} == {(1, "float16")}
    said = "this bundle has learnt no mix of its own; the average of all layers is used instead\n"
    assert (said in answer.err) == (layers == "mix")


def test_a_mix_that_was_learnt(place):
    from safetensors.numpy import load_file, save_file

    matcher = write_esim_elmo(place / "matcher", places=("input",))
    stored = load_file(matcher / "model.safetensors")
    stored["embedder.mixes.input.weights"] = np.float32([0, 60, 0])
    save_file(stored, matcher / "model.safetensors")
    answer = embed(matcher, "lines.txt", "--layers", "mix")
    assert "mix of its own" not in answer.err
    embed(matcher, "lines.txt", "--layers", "1", output="w.npz")
    same(arrays(), arrays("w.npz"), atol=1e-5)


def test_stateful(model, place):
    embed(model, "lines.txt", "--stateful")
    found = arrays()
    same(found, sq.load(model).stream().embed(LINES))
    fresh = sq.load(model).embed(LINES)
    same(found[:1], fresh[:1])
    assert np.abs(found[2][1:] - fresh[2][1:]).max() > 1e-4


def test_parquet(model, place):
    parquet = pytest.importorskip("pyarrow.parquet")
    embed(model, "lines.txt", output="v.parquet")
    rows = parquet.read_table("v.parquet").to_pylist()
    assert [row["row"] for row in rows] == [1, 2, 3, 4]
    assert rows[2]["tokens"] == ["The", "dog", "ran", "!"]
    same([np.array(rows[2]["vectors"])], sq.load(model).embed(LINES[2:3]))


def test_text_on_the_command_line(model, place):
    answer = softquery("embed", "--text", "A cat", "--text", "ran", "--model", model, "--json")
    first, second = (json.loads(line) for line in answer.out.splitlines())
    assert (first["text"], first["tokens"], second["tokens"]) == ("A cat", ["A", "cat"], ["ran"])
    same([np.array(first["vectors"])], sq.load(model).embed(["A cat"]))
    shown = softquery("embed", "--text", "A cat", "--model", model, "--layers", "top")
    assert shown.code == 0
    for word in ("A cat  (1 x 2 x 8)", "cat", "top", "…"):
        assert word in shown.out
    embed(model, "--text", "A cat")
    same(arrays(), sq.load(model).embed(["A cat"]))


def test_bad_rows_are_skipped_and_noted(model, place):
    (place / "bad.txt").write_bytes("one\ncaf\u00e9\nthree\n".encode("latin-1"))
    answer = embed(model, "bad.txt", "--on-error", "skip")
    assert "1 bad row skipped: v.npz.errors.tsv" in answer.err
    assert (place / "v.npz.errors.tsv").read_text().startswith("row\treason\n2\tnot valid UTF-8")
    same(arrays(), sq.load(model).embed(["one", "three"]))


def test_a_bad_row_stops_and_what_was_done_is_kept(model, place):
    good = [f"line {n} of a cat" for n in range(CHUNK_LINES + 5)]
    (place / "bad.txt").write_bytes("\n".join(good).encode() + b"\ncaf\xe9\n")
    answer = softquery("embed", "bad.txt", "--model", model, "--output", "v.npz")
    assert answer.code == 2
    assert f"bad.txt, row {len(good) + 1}: not valid UTF-8" in answer.err
    assert (place / "v.npz.partial").exists()
    (place / "bad.txt").write_text("\n".join([*good, "café"]))
    answer = embed(model, "bad.txt")
    assert f"({CHUNK_LINES} of them before)" in answer.err
    embed(model, "bad.txt", output="whole.npz")
    assert (place / "v.npz").read_bytes() == (place / "whole.npz").read_bytes()


def test_long_lines_are_cut_and_it_is_said(model, place):
    (place / "long.txt").write_text("a " * 500 + "\nshort\n")
    answer = embed(model, "long.txt")
    assert "1 line cut to the model's 126 words" in answer.err
    assert [each.shape[1] for each in arrays()] == [126, 1]


ODD = {
    "a token of 10,000 characters": ("x" * 10_000, ["x" * 10_000]),
    "emoji without spaces": ("\U0001f44d\U0001f600", ["\U0001f44d", "\U0001f600"]),
    "mixed scripts without spaces": ("ab漢字cd", ["ab", "漢", "字", "cd"]),
    "a blank line, or one of invisible characters": ("\u200b\u200b", []),
    "a byte order mark, control characters": ("a\ufeffb \x07c", None),
}


def test_odd_text(model, place):
    """Each row of the page's table."""
    page = Path(__file__).resolve().parents[2] / "docs" / "embed.md"
    section = page.read_text(encoding="utf-8").partition("## Odd text")[2]
    assert all(f"| {title} |" in section for title in ODD)
    assert section.count("\n| ") == len(ODD) + 1
    (place / "odd.txt").write_text("\n".join(text for text, _ in ODD.values()) + "\nend\n")
    embed(model, "odd.txt")
    found, embedder = arrays(), sq.load(model)
    for (text, words), array in zip(ODD.values(), found, strict=False):
        wanted = embedder.tokens([text])[0]
        assert words is None or wanted == words
        assert array.shape == (3, len(wanted), 8)
        assert np.isfinite(array).all()
    long, cut = embedder.embed(["x" * 10_000, "x" * 48])
    np.testing.assert_array_equal(long, cut)
    assert not any(set("\ufeff\x07") & set(word) for word in embedder.tokens(["a\ufeffb \x07c"])[0])


def test_a_process_of_its_own_needs_no_torch(model, place):
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'onnx', 'h5py', 'pyarrow']))\n"
        "from softquery.cli import main"
    )
    words = ["embed", "lines.txt", "--model", model, "--output", "v.npz", "--threads", "2"]
    answer = finish(start(*words, code=code))
    assert (answer.code, answer.out, answer.err) == (0, "", "4 lines, 15 words: v.npz\n")
    same(arrays(), sq.load(model).embed(LINES))


def test_import_exports_too(place):
    pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
    options = options_of()
    made = random_arrays(options)
    write_published(place / "published", options, made)
    files = ["--weights", "published/lm_weights.hdf5", "--options", "published/options.json"]
    answer = softquery("import", "elmo", *files, "--output", "imported")
    assert answer.code == 0, answer.err
    assert sorted(path.name for path in (place / "imported" / "onnx").iterdir()) == [
        "context.onnx", "read.onnx", "weights.json",
    ]  # fmt: skip
    assert metrics(place / "imported")["export"]["difference_from_torch"] < 1e-5
    assert sq.load("imported").backend.name == "onnx"
    embed("imported", "lines.txt", "--layers", "all", "--stateful")
    oracle = Oracle(options, made)
    state = oracle.fresh()
    for found, words in zip(arrays(), sq.load("imported").tokens(LINES), strict=True):
        wanted = oracle.layers(words, state)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_import_without_torch(place):
    """What is imported on a machine without torch embeds there."""
    pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
    options = options_of()
    write_published(place / "published", options, random_arrays(options))
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'jaxtyping']))\n"
        "from softquery.cli import main"
    )
    files = ["--weights", "published/lm_weights.hdf5", "--options", "published/options.json"]
    answer = finish(start("import", "elmo", *files, "--output", "imported", code=code))
    assert answer.code == 0, answer.err
    assert metrics(place / "imported")["export"]["difference_from_torch"] is None
    embed("imported", "lines.txt")


@pytest.mark.data
def test_the_fixture_from_the_command_line(place):
    """The recorded activations of one stream, by `import` and `embed --stateful` alone."""
    h5py = pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
    folder = shared_data("fixtures/elmo")
    files = ["--weights", folder / "lm_weights.hdf5", "--options", folder / "options.json"]
    assert softquery("import", "elmo", *files, "--output", "imported").code == 0
    streams = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    rows = [json.dumps({"tokens": line.split()}) for line in streams[1]]
    (place / "stream.jsonl").write_text("\n".join(rows))
    embed("imported", "stream.jsonl", "--stateful")
    recorded = h5py.File(folder / "lm_embeddings_1.hdf5")
    for place_, found in enumerate(arrays()):
        both = np.concatenate(recorded[str(place_)], axis=-1)
        np.testing.assert_allclose(found[2], both, rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def shipped_like(tmp_path_factory):
    """A biLM as it would be shipped: trained, int8, without its softmax."""
    folder = tmp_path_factory.mktemp("shipped")
    write_text(folder / "text")
    words = text_settings(training__max_epochs=3, optim__lr=0.03, model__hidden_size=64,
                          model__projection_size=16)  # fmt: skip
    answer = softquery("train", "elmo-small", "--data", folder / "text", "--output",
                       folder / "trained", *words)  # fmt: skip
    assert answer.code == 0, answer.err
    answer = softquery(
        "export", folder / "trained", "--output", folder / "small", "--int8", "--gate", "5",
        "--data", folder / "text/valid.txt", "--drop-softmax", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    return folder, json.loads(answer.out)


def test_export_of_a_trained_one(shipped_like):
    folder, report = shipped_like
    assert (report["precision"], report["gate"]["metric"]) == ("int8", "perplexity")
    before, after = weights(folder / "trained"), weights(folder / "small")
    assert sum(v.nbytes for v in after.values()) < 0.5 * sum(v.nbytes for v in before.values())
    assert config(folder / "small")["model"]["config"]["softmax"] == {"kind": "none"}
    noted = metrics(folder / "small")
    assert noted["export"]["softmax"] == "left out"
    assert noted["dev"] == metrics(folder / "trained")["dev"]
    assert (folder / "small" / "training" / "run.json").is_file()
    one, other = (sq.load(folder / name).embed(["A man eats."])[0] for name in ("trained", "small"))
    assert 0 < np.abs(one - other).max() < 0.05


def test_training_goes_on_from_it(shipped_like):
    """Adapting learns a new softmax; a task takes it in as it is."""
    folder, _ = shipped_like
    words = text_settings(training__max_steps=2, training__max_epochs=1, model__hidden_size=64)
    answer = softquery("train", "elmo-small", "--data", folder / "text", "--output",
                       folder / "adapted", "--init", folder / "small", *words)  # fmt: skip
    assert answer.code == 0, answer.err
    assert "new: softmax." in answer.err
    assert weights(folder / "adapted")["reader.projection.weight"].dtype == np.float32
    write_folder(folder / "pairs", inference(60), num_dev=10)
    answer = softquery("train", "esim-elmo", "--data", folder / "pairs", "--output",
                       folder / "matcher", *settings(training={"max_steps": 1, "max_epochs": 1}),
                       "--set", f"elmo.bundle={folder / 'small'}")  # fmt: skip
    assert answer.code == 0, answer.err
    stored = weights(folder / "small")
    name = "forwards.layers.0.input_weight"
    wide = stored[name] * stored[f"{name}:scale"][:, None]
    inside = weights(folder / "matcher")[f"embedder.bilm.{name}"]
    np.testing.assert_allclose(inside, wide, rtol=0, atol=1e-7)


def test_the_table_for_people(shipped_like, tmp_path):
    folder, _ = shipped_like
    words = ["--int8", "--data", folder / "text/valid.txt", "--gate", "5"]
    answer = softquery("export", folder / "trained", "--output", tmp_path / "out", *words)
    assert (answer.code, answer.err) == (0, "")
    for word in ("precision", "int8", "largest difference from torch", "perplexity, float32"):
        assert word in answer.out


def test_the_cache_changes_nothing(model, place):
    embed(model, "lines.txt")
    embed(model, "lines.txt", "--cache", "0", output="w.npz")
    same(arrays(), arrays("w.npz"))


def test_help_names_what_there_is():
    answer = softquery("embed", "--help")
    assert answer.code == 0
    for word in ("--layers", "--stateful", "--precision", "--output", "--threads", "--text"):
        assert word in answer.out
