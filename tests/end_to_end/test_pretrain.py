"""`softquery train elmo`: from raw text to a bundle, resumed, adapted, on several processes."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

import numpy as np
import torch
from reading import mean_changes, weights
from running import finish, softquery, start_ranks
from safetensors.numpy import load_file
from tiny_text import settings, write_text

from softquery.bundle import read_bundle
from softquery.data import write_corpus
from softquery.errors import ConfigError, InputError
from softquery.files import find_texts, read_texts
from softquery.recipes import override, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import train
from softquery.runtime.torch_models import load_embedder
from softquery.text import TextConfig, TextPipeline, spell_sentences

EPOCHS = {"training__max_epochs": 3, "training__log_every": 1}


class Watch:
    """Says nothing, and stops a run as a kill would, after some step."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after

    def begin(self, total_steps: int, done: int) -> None: ...

    def step(self, done: int, facts: dict[str, float]) -> None:
        if done == self.stop_after:
            raise MemoryError("killed")

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None: ...


def run(name="elmo-small", **changes):
    return override(recipe(name), settings(**changes)[1::2])


def go(made, data, output, *, watch=None, said=None, **arguments):
    before = torch.get_float32_matmul_precision()
    said = [] if said is None else said
    try:
        return train(made, RunOptions(data=data, output=output, observer=watch or Watch(),
                               say=said.append, **arguments))  # fmt: skip
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "data")


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A run through the command line: the bundle, and what it printed."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    words = settings(**{**EPOCHS, "training__max_epochs": 6, "optim__lr": 0.03})
    answer = softquery("train", "elmo-small", "--data", data, "--output", folder, *words, "--json")
    assert answer.code == 0, answer.err
    return folder, answer


def log(bundle):
    with open(bundle / "training" / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_bundle_is_complete_and_nothing_else_is_left(trained):
    folder, answer = trained
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    bundle = read_bundle(folder)
    assert (bundle.config.kind, bundle.config.model["name"]) == ("embedder", "elmo")
    assert bundle.config.model["config"]["vocab_size"] == 40
    assert json.loads(answer.out) == {"bundle": str(folder), **bundle.metrics}
    assert sorted(path.name for path in (folder / "training").iterdir()) == [
        "curves.png", "log.csv", "run.json", "tensorboard",
    ]  # fmt: skip


def test_it_has_learnt_to_foresee(trained):
    """Forty words are predicted; knowing how sentences are made leaves few choices."""
    folder, _ = trained
    metrics = read_bundle(folder).metrics
    for part in ("perplexity", "perplexity_forwards", "perplexity_backwards"):
        assert 1 < metrics["dev"][part] < 12
    assert 0 < metrics["dev"]["unknown_share"] < 0.2
    rows = [row for row in log(folder) if row["tune_perplexity"]]
    assert float(rows[-1]["tune_perplexity"]) < 0.6 * float(rows[0]["tune_perplexity"])


def test_what_was_said(trained):
    _, answer = trained
    assert "reading 2 files of training text, twice" in answer.err
    assert "predicted: 40 words of " in answer.err
    assert "words to train on, " in answer.err
    assert "tokens/s" in answer.err
    assert "instead" not in answer.err  # there is text to measure on


def test_the_vocabulary_is_the_most_frequent_words(trained):
    bundle = read_bundle(trained[0])
    pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
    entries = pipeline.vocabulary()
    assert entries[:6] == ["<pad>", "<unk>", "<bos>", "<eos>", ".", "A"]
    assert not [entry for entry in entries if entry.startswith("Anna")]


def test_a_word_in_its_context(trained):
    model = load_embedder(read_bundle(trained[0]))
    sentences = [["A", "Zorblax", "sings", "at", "home"], ["A", "Zorblax", "eats", "at", "home"]]
    characters, mask = (torch.from_numpy(part) for part in spell_sentences(sentences))
    layers = model.encode(characters, mask).layers
    assert layers.shape == (3, 2, 7, 8)
    torch.testing.assert_close(layers[0, 0, 2], layers[0, 1, 2])
    assert not torch.allclose(layers[2, 0, 2], layers[2, 1, 2])


def test_a_seed_determines_the_weights(data, tmp_path):
    made = run(**{**EPOCHS, "training__max_steps": 5})
    for name in ("one", "two"):
        go(made, data, tmp_path / name)
    go(override(made, ["training.seed=2"]), data, tmp_path / "other")
    one, two, other = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "other")
    )
    assert one == two != other


RESUMED = {**EPOCHS, "data__rounds": 2, "training__average_decay": 0.9, "training__max_steps": 60}


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    """Runs that nothing interrupts, by the way in which their LSTMs run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for way in ("fast", "exact"):
        go(run(**RESUMED, model__way=way), data, folder / way)
    return folder


def test_a_run_of_rounds_says_how_often_it_reads_the_text(data, tmp_path):
    """And it does so: an epoch has half the steps that a whole pass has."""
    said: list[str] = []
    made = run(data__rounds=2, training__max_epochs=5, training__patience=5)
    go(made, data, tmp_path / "halves", said=said)
    assert said[0] == "up to 5 epochs of half a pass each: 2.5 passes over the text"
    go(run(training__max_epochs=1), data, tmp_path / "whole", said=said)
    assert not [line for line in said[1:] if "over the text" in line]
    steps = [
        read_bundle(tmp_path / name).metrics["training"]["steps"] for name in ("halves", "whole")
    ]
    assert steps[0] == 5 * (steps[1] // 2)


@pytest.mark.parametrize(
    ("way", "stop_after"),
    [
        pytest.param("fast", 2, marks=pytest.mark.endurance),
        pytest.param("fast", 25, marks=pytest.mark.endurance),
        ("fast", 26),
        pytest.param("fast", 44, marks=pytest.mark.endurance),
        ("exact", 17),
    ],
)
def test_a_killed_run_goes_on_to_the_same_weights(way, stop_after, data, undisturbed, tmp_path):
    """Also inside an epoch: the state of every stream, and the place in the text, go on."""
    made = run(**RESUMED, model__way=way, training__checkpoint_seconds=0)
    with pytest.raises(MemoryError, match="killed"):
        go(made, data, tmp_path / "cut", watch=Watch(stop_after))
    said: list[str] = []
    go(made, data, tmp_path / "cut", resume=True, said=said)
    assert "reading" not in " ".join(said)  # the text was numbered before
    wanted = (undisturbed / way / "model.safetensors").read_bytes()
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == wanted
    speeds = {"examples_per_second": "", "tokens_per_second": ""}
    assert [{**row, **speeds} for row in log(tmp_path / "cut")] == [
        {**row, **speeds} for row in log(undisturbed / way)
    ]


@pytest.mark.parametrize("name", ["train-00.txt", "valid.txt"])
def test_a_run_is_not_gone_on_with_on_other_text(name, data, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    made = run(**RESUMED, training__checkpoint_seconds=0)
    with pytest.raises(MemoryError, match="killed"):
        go(made, tmp_path / "data", tmp_path / "cut", watch=Watch(4))
    with open(tmp_path / "data" / name, "a", encoding="utf-8") as file:
        file.write("One more.")
    with pytest.raises(ConfigError, match="the training data has changed since the run was start"):
        go(made, tmp_path / "data", tmp_path / "cut", resume=True)


def test_killed_while_numbering_it_starts_over(data, tmp_path, monkeypatch):
    made = run(**EPOCHS, training__max_steps=2)

    def killed(folder, **_):
        (folder.parent / ".corpus.tmp").mkdir()
        (folder.parent / ".corpus.tmp" / "train.forwards.ids").write_bytes(b"half")
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("softquery.running.pretrain_elmo.write_corpus", killed)
        patch.setattr("softquery.running.run_folder._remove", lambda fresh: None)
        with pytest.raises(SystemExit):
            go(made, data, tmp_path / "model")
    assert (tmp_path / "model.partial" / "training" / "run.json").exists()
    go(made, data, tmp_path / "model", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("kind", ["full", "sampled", "adaptive", "characters"])
def test_every_softmax_trains_and_can_be_gone_on_from(kind, data, tmp_path):
    changes = {**EPOCHS, "model__softmax__kind": kind, "training__max_steps": 24}
    go(run(**changes), data, tmp_path / "model")
    first = read_bundle(tmp_path / "model").metrics["dev"]["perplexity"]
    said: list[str] = []
    go(run(**changes), data, tmp_path / "more", init=tmp_path / "model", said=said)
    assert any(line.startswith("started from ") and "new:" not in line for line in said)
    assert read_bundle(tmp_path / "more").metrics["dev"]["perplexity"] < first


def test_full_goes_on_from_sampled_and_other_kinds_are_kept(trained, data, tmp_path):
    changes = {**EPOCHS, "training__max_steps": 1}
    go(run(**changes, model__softmax__kind="full"), data, tmp_path / "full", init=trained[0])
    assert config(tmp_path / "full")["softmax"]["kind"] == "full"
    go(run(**changes, model__softmax__kind="characters"), data, tmp_path / "kept", init=trained[0])
    assert config(tmp_path / "kept")["softmax"]["kind"] == "sampled"


def test_numbered_text_is_trained_on_as_the_text_is(data, undisturbed, tmp_path):
    made = run(**RESUMED, model__way="fast")
    write_corpus(
        tmp_path / "corpus",
        train=lambda: read_texts(find_texts(data, "train")),
        valid=lambda: read_texts(find_texts(data, "valid")),
        config=made.text,
    )
    go(made, tmp_path / "corpus", tmp_path / "model")
    found, wanted = (folder / "model.safetensors" for folder in (
        tmp_path / "model", undisturbed / "fast"))  # fmt: skip
    assert found.read_bytes() == wanted.read_bytes()


def test_numbered_text_must_fit_the_bundle_to_start_from(trained, data, tmp_path):
    corpus = tmp_path / "corpus"
    write_corpus(corpus, train=lambda: ["b a", "c"], valid=lambda: ["a"], config=run().text)
    with pytest.raises(InputError, match="is numbered differently from .*; give the text itself"):
        go(run(), corpus, tmp_path / "out", init=trained[0])


def config(folder):
    return read_bundle(folder).config.model["config"]


def test_lower_layers_adapt_more_slowly(trained, data, tmp_path):
    made = run(**EPOCHS, training__max_steps=3, optim__layer_decay=0.1)
    go(made, data, tmp_path / "adapted", init=trained[0])
    embedded, lower, higher = mean_changes(
        weights(trained[0]),
        weights(tmp_path / "adapted"),
        [
            "reader.projection.weight",
            "forwards.layers.0.projection",
            "backwards.layers.1.projection",
        ],
    )
    assert 0 < embedded < 0.3 * lower < 0.09 * higher
    with pytest.raises(ConfigError, match="layer_decay is for what is gone on with"):
        go(made, data, tmp_path / "new")
    assert not (tmp_path / "new.partial").exists()


def test_adapting_keeps_vocabulary_and_sizes(trained, tmp_path):
    folder = tmp_path / "domain"
    folder.mkdir()
    text = "The physician prescribes a remedy at home.\n" * 30
    (folder / "train.txt").write_text(text)
    (folder / "valid.txt").write_text(text[:200])
    said: list[str] = []
    go(run(**EPOCHS, model__hidden_size=12), folder, tmp_path / "adapted", init=trained[0],
       said=said)  # fmt: skip
    assert "as in the bundle that is started from: hidden_size" in said
    assert any(f"40 words, those of {trained[0]};" in line for line in said)
    for name in ("tokenizer.json",):
        before = json.loads((trained[0] / name).read_text())["model"]["vocab"]
        assert json.loads((tmp_path / "adapted" / name).read_text())["model"]["vocab"] == before
    assert config(tmp_path / "adapted")["hidden_size"] == 8
    before = evaluated(trained[0], folder, tmp_path / "before")
    assert read_bundle(tmp_path / "adapted").metrics["dev"]["perplexity"] < 0.7 * before


def evaluated(bundle, data, output):
    """The perplexity of a bundle on other text: a run that hardly moves it."""
    made = run(**EPOCHS, optim__lr=1e-12, training__max_steps=1)
    go(made, data, output, init=bundle)
    return read_bundle(output).metrics["dev"]["perplexity"]


def test_a_task_is_adapted_to_by_a_column_of_its_table(trained, tmp_path):
    rows = "".join(f"A man eats at home {n}.\tsame\n" for n in range(40))
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text(f"sentence1\tlabel\n{rows}")
    answer = softquery("train", "elmo-small", "--data", tmp_path, "--output", tmp_path / "model",
                       "--columns", "text=sentence1", "--init", trained[0],
                       *settings(**{**EPOCHS, "training__max_steps": 2}))  # fmt: skip
    assert answer.code == 0, answer.err


def test_published_weights_are_adapted(data, tmp_path):
    pytest.importorskip("h5py", reason="published weights are HDF5 ([hdf5])")
    from published_elmo import options_of, random_arrays, write_published

    options = options_of()
    folder = write_published(tmp_path / "published", options, random_arrays(options))
    files = ["--weights", folder / "lm_weights.hdf5", "--options", folder / "options.json"]
    answer = softquery("import", "elmo", *files, "--output", tmp_path / "imported", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["hidden_size"] == 9
    said: list[str] = []
    go(run(**EPOCHS, training__max_steps=3), data, tmp_path / "model", init=tmp_path / "imported",
       said=said)  # fmt: skip
    assert any("new: softmax.bias, softmax.words.weight" in line for line in said)
    assert (config(tmp_path / "model")["way"], config(tmp_path / "model")["vocab_size"]) == (
        "exact", 40,
    )  # fmt: skip


ODD = {
    "a token of 10,000 characters": ("x" * 10_000, ["x" * 10_000]),
    "emoji without spaces": ("\U0001f44d\U0001f468\u200d\U0001f469", ["\U0001f44d", "\U0001f468", "\U0001f469"]),  # noqa: E501
    "mixed scripts without spaces": ("\u03a9漢字кири한국어", ["\u03a9", "漢", "字", "кири한국어"]),
    "invisible characters": ("\u200b\u200d\u2060", []),
    "a byte order mark": ("\ufeffA man eats.", ["A", "man", "eats", "."]),
    "control characters": ("a\x01\x02\x1b man", ["a", "man"]),
    "letters with combining marks": ("e\u0301te\u0301 \u00e9t\u00e9", ["\u00e9t\u00e9"] * 2),
}  # fmt: skip
"""Text that is no bad input, and the words that are found in it; a page lists the same."""


def test_the_page_lists_all_odd_text():
    page = (Path(__file__).resolve().parents[2] / "docs" / "elmo.md").read_text(encoding="utf-8")
    section = page.partition("\n## Odd text\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (.+?) \| .+ \|$", section, re.MULTILINE)[1:] == list(ODD)


@pytest.mark.parametrize("title", ODD)
def test_odd_text_is_read_like_any_other(title, data, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    text, words = ODD[title]
    for name in ("train-00.txt", "valid.txt"):
        path = tmp_path / "data" / name
        path.write_text(text + "\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    go(run(**EPOCHS, training__max_steps=2), tmp_path / "data", tmp_path / "model")
    bundle = read_bundle(tmp_path / "model")
    assert np.isfinite(bundle.metrics["dev"]["perplexity"])
    pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
    assert pipeline.words([text]) == [words]
    characters, mask = map(torch.from_numpy, spell_sentences([words]))
    assert load_embedder(bundle).encode(characters, mask).layers.isfinite().all()


def processes(data, folder, *words):
    return ["train", "elmo-small", "--data", data, "--output", folder,
            *settings(**EPOCHS, model__softmax__kind="full", model__dropout=0,
                      training__max_steps=40, data__rounds=2), *words]  # fmt: skip


@pytest.mark.slow
def test_two_processes_learn_what_one_learns_and_go_on_together(data, tmp_path):
    code = (
        "from softquery.cli import main\nimport os\n"
        "from softquery.training.loop import Trainer\nsave = Trainer._save\n"
        "def once(self):\n    save(self)\n"
        "    if self.state.step == 7: os._exit(9)\n"
        "Trainer._save = once"
    )
    often = ["--set", "training.checkpoint_seconds=0"]
    one = softquery(*processes(data, tmp_path / "one"))
    assert one.code == 0, one.err
    two = [finish(each) for each in start_ranks(*processes(data, tmp_path / "two"))]
    assert [each.code for each in two] == [0, 0], two
    weights = {name: load_file(tmp_path / name / "model.safetensors") for name in ("one", "two")}
    for name, value in weights["one"].items():
        np.testing.assert_allclose(weights["two"][name], value, atol=1e-5, err_msg=name)

    command = processes(data, tmp_path / "cut", *often)
    assert 9 in [finish(each).code for each in start_ranks(*command, code=code)]
    shutil.copytree(tmp_path / "cut.partial", tmp_path / "fewer.partial")
    resumed = [finish(each) for each in start_ranks(*command, "--resume")]
    assert [each.code for each in resumed] == [0, 0], resumed
    assert "resumed at step 7" in resumed[0].err
    again = load_file(tmp_path / "cut" / "model.safetensors")
    for name, value in weights["two"].items():
        np.testing.assert_allclose(again[name], value, atol=1e-6, err_msg=name)

    # One process reads on where two stopped: a window left out or read twice would show.
    alone = softquery(*processes(data, tmp_path / "fewer", *often), "--resume")
    assert alone.code == 0, alone.err
    assert "resumed at step 7" in alone.err
    fewer = load_file(tmp_path / "fewer" / "model.safetensors")
    for name, value in weights["one"].items():
        np.testing.assert_allclose(fewer[name], value, atol=1e-5, err_msg=name)


def test_evaluating_is_measuring_as_after_training(trained, data):
    folder, _ = trained
    (valid,) = find_texts(data, "valid")
    answer = softquery("evaluate", folder, "--data", valid, "--json")
    assert answer.code == 0, answer.err
    expected = json.loads((folder / "metrics.json").read_text())["dev"]
    assert json.loads(answer.out) == pytest.approx(expected, rel=1e-5)
    refused = softquery("evaluate", "elmo-en", "--data", valid)
    assert refused.code == 2
    assert "elmo-en: has no softmax to predict words with; use softquery embed" in refused.err


def test_the_published_form_is_a_form_of_export(trained, tmp_path):
    pytest.importorskip("h5py")
    folder, _ = trained
    answer = softquery("export", folder, "--form", "elmo", "--output", tmp_path / "out", "--json")
    assert answer.code == 0, answer.err
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"lm_weights.hdf5", "options.json"}
    words = ["--weights", tmp_path / "out" / "lm_weights.hdf5"]
    words += ["--options", tmp_path / "out" / "options.json", "--output", tmp_path / "back"]
    assert softquery("import", "elmo", *words).code == 0
    ours, theirs = (load_file(each / "model.safetensors") for each in (folder, tmp_path / "back"))
    assert all(np.allclose(ours[name], theirs[name], atol=1e-6) for name in theirs)
    again = softquery("export", folder, "--form", "elmo", "--output", tmp_path / "out")
    assert (again.code, "already exists; name another --output" in again.err) == (2, True)


def test_the_folder_of_a_task_is_text_as_well(data, tmp_path):
    """Its labelled rows lie in train and dev, and a column of them is read."""
    for split, ours in (("train", "train"), ("dev", "valid")):
        texts = list(read_texts(find_texts(data, ours)))
        rows = "".join(f"{text}\tyes\n" for text in texts)
        (tmp_path / f"{split}.tsv").write_text(f"sentence1\tlabel\n{rows}", encoding="utf-8")
    words = [*settings(training__max_steps=1), "--columns", "text=sentence1", "--json"]
    answer = softquery(
        "train", "elmo-small", "--data", tmp_path, "--output", tmp_path / "out", *words
    )
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["dev"]["n"] > 0
    assert f"{tmp_path} holds no text for valid; dev is measured on instead\n" in answer.err
