"""`softquery train bert-*`: from raw text to a bundle, resumed, adapted, measured, published."""

import csv
import json
import shutil

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

import numpy as np
import torch
from reading import mean_changes, weights
from running import finish, softquery, start_ranks
from safetensors.numpy import load_file
from tiny_documents import settings, write_documents

from softquery.bundle import read_bundle
from softquery.data import Tokens, read_documents
from softquery.data import write_documents as write_numbered
from softquery.errors import ConfigError, InputError
from softquery.files import find_texts, read_lines
from softquery.recipes import override, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import train
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_encoder

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


def run(name="bert-tiny", **changes):
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
    return write_documents(tmp_path_factory.mktemp("text") / "data")


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A run through the command line: the bundle, and what it printed."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    words = settings(**{**EPOCHS, "training__max_epochs": 36, "training__patience": 36,
                        "data__long_share": 0.2})  # fmt: skip
    answer = softquery("train", "bert-tiny", "--data", data, "--output", folder, *words, "--json")
    assert answer.code == 0, answer.err
    return folder, answer


def log(bundle):
    with open(bundle / "training" / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_bundle_is_complete_and_nothing_else_is_left(trained):
    folder, answer = trained
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    bundle = read_bundle(folder)
    assert (bundle.config.kind, bundle.config.model["name"]) == ("encoder", "bert")
    assert bundle.config.task == {"name": "masked-language-model"}
    assert bundle.config.model["config"]["vocab_size"] == 200
    assert json.loads(answer.out) == {"bundle": str(folder), **bundle.metrics}
    assert sorted(path.name for path in (folder / "training").iterdir()) == [
        "curves.png", "log.csv", "run.json", "tensorboard",
    ]  # fmt: skip
    assert "Pretrained only" in bundle.card


def test_it_has_learnt_to_predict(trained):
    """Of two hundred pieces, any is right once in two hundred times, the likeliest in eight."""
    metrics = read_bundle(trained[0]).metrics
    assert metrics["dev"]["mlm_accuracy"] > 0.2
    assert metrics["dev"]["mlm_loss"] < 3.5
    assert metrics["dev"]["n"] > 50
    assert 0 <= metrics["dev"]["nsp_accuracy"] <= 1
    assert metrics["dev"]["pairs"] > 10
    assert metrics["dev"]["long"]["pairs"] < metrics["dev"]["pairs"]
    rows = [row for row in log(trained[0]) if row["tune_mlm_loss"]]
    assert float(rows[-1]["tune_mlm_loss"]) < 0.8 * float(rows[0]["tune_mlm_loss"])
    assert {"tune_mlm_accuracy", "tune_nsp_accuracy", "tune_nsp_loss"} <= rows[0].keys()


def test_what_was_said(trained):
    err = trained[1].err
    assert "learning up to 200 pieces from 2 files of training text" in err
    assert "numbering 2 files of training text" in err
    assert "200 pieces; " in err
    assert "pieces to train on, " in err
    assert "over the text" not in err  # an epoch is a pass
    assert "tokens/s" in err


def test_a_word_in_its_context(trained):
    bundle = read_bundle(trained[0])
    model, pipeline = load_encoder(bundle), fitting_pipeline(bundle)
    ids = torch.tensor(pipeline.encode_ids(["a man eats at home.", "a man sings at home."]))
    states = model.encode(Tokens(ids, torch.ones_like(ids, dtype=torch.bool))).layers
    place = pipeline.encode(["a man eats at home."])[0].tokens.index("at")
    torch.testing.assert_close(states[0][0, place], states[0][1, place])
    assert not torch.allclose(states[-1][0, place], states[-1][1, place])


def test_a_seed_determines_the_weights(data, tmp_path):
    made = run(**EPOCHS, training__max_steps=4)
    for name in ("one", "two"):
        go(made, data, tmp_path / name)
    go(override(made, ["training.seed=2"]), data, tmp_path / "other")
    one, two, other = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "other")
    )
    assert one == two != other


RESUMED = {**EPOCHS, "training__average_decay": 0.9, "data__rounds": 2, "data__long_share": 0.4,
           "data__num_tokens": 240}  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    """A run that nothing interrupts; it ends in long sequences."""
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    said: list[str] = []
    go(run(**RESUMED), data, folder, said=said)
    assert said[0] == "up to 3 epochs of half a pass each: 1.5 passes over the text"
    return folder


OFTEN = [pytest.param(step, marks=pytest.mark.endurance) for step in (2, 7)]


@pytest.mark.parametrize("stop_after", [*OFTEN, 5, 10])
def test_a_killed_run_goes_on_to_the_same_weights(stop_after, data, undisturbed, tmp_path):
    """Also inside an epoch, and where short sequences become long ones."""
    made = run(**RESUMED, training__checkpoint_seconds=0)
    with pytest.raises(MemoryError, match="killed"):
        go(made, data, tmp_path / "cut", watch=Watch(stop_after))
    said: list[str] = []
    go(made, data, tmp_path / "cut", resume=True, said=said)
    assert not [line for line in said if line.startswith(("learning", "numbering"))]
    wanted = (undisturbed / "model.safetensors").read_bytes()
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == wanted
    speeds = {"examples_per_second": "", "tokens_per_second": ""}
    assert [{**row, **speeds} for row in log(tmp_path / "cut")] == [
        {**row, **speeds} for row in log(undisturbed)
    ]


def test_a_run_is_not_gone_on_with_on_other_text(data, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    made = run(**RESUMED, training__checkpoint_seconds=0)
    with pytest.raises(MemoryError, match="killed"):
        go(made, tmp_path / "data", tmp_path / "cut", watch=Watch(2))
    with open(tmp_path / "data" / "valid.txt", "a", encoding="utf-8") as file:
        file.write("One more.")
    with pytest.raises(ConfigError, match="the training data has changed since the run was start"):
        go(made, tmp_path / "data", tmp_path / "cut", resume=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"model__heads": "words"},
        {"masking__unit": "words"},
        {"training__precision": "bf16-mixed"},
        {"training__accumulate": 2},
        {"data__long_share": 0},
        {"masking__share": 0.3, "masking__as_random": 0, "masking__as_mask": 1},
    ],
    ids=str,
)
def test_every_way_to_train(changes, data, tmp_path):
    go(run(**EPOCHS, training__max_steps=6, **changes), data, tmp_path / "model")
    bundle = read_bundle(tmp_path / "model")
    dev = bundle.metrics["dev"]
    assert np.isfinite(dev["mlm_loss"])
    assert ("nsp_accuracy" in dev) == (changes.get("model__heads") != "words")
    assert bundle.config.model["config"]["pooler"] == ("nsp_accuracy" in dev)
    assert ("long" in dev) == (changes.get("data__long_share") != 0)


def test_heads_can_be_left_out(data, tmp_path):
    go(run(**EPOCHS, training__max_steps=2, kept="encoder"), data, tmp_path / "model")
    bundle = read_bundle(tmp_path / "model")
    assert bundle.config.model["config"]["heads"] == "none"
    model = load_encoder(bundle)
    assert (model.word_head, model.next_head) == (None, None)
    assert model.pooler is not None
    answer = softquery("evaluate", tmp_path / "model", "--data", data / "valid.txt")
    assert answer.code == 2
    assert "was kept without its heads; there is nothing to measure" in answer.err
    said: list[str] = []
    go(run(**EPOCHS, training__max_steps=2), data, tmp_path / "more", init=tmp_path / "model",
       said=said)  # fmt: skip
    assert any("new: next_head.bias, next_head.weight, word_head.bias" in line for line in said)


def test_lower_layers_adapt_more_slowly(trained, data, tmp_path):
    made = run(**EPOCHS, training__max_steps=3, optim__layer_decay=0.1)
    go(made, data, tmp_path / "adapted", init=trained[0])
    embedded, lower, higher = mean_changes(
        weights(trained[0]),
        weights(tmp_path / "adapted"),
        [
            "embedding.words.weight",
            "blocks.0.feed_forward.widen.weight",
            "blocks.1.feed_forward.widen.weight",
        ],
    )
    assert 0 < embedded < 0.3 * lower < 0.09 * higher
    with pytest.raises(ConfigError, match="layer_decay is for what is gone on with"):
        go(made, data, tmp_path / "new")
    assert not (tmp_path / "new.partial").exists()


def test_adapting_keeps_vocabulary_and_sizes_and_helps(trained, tmp_path):
    folder = tmp_path / "domain"
    folder.mkdir()
    text = "\n\n".join(f"The physician number {n} prescribes a remedy at home." for n in range(40))
    for name in ("train.txt", "valid.txt"):
        (folder / name).write_text(text)
    said: list[str] = []
    made = run(**{**EPOCHS, "training__max_epochs": 12, "model__hidden_size": 16})
    go(made, folder, tmp_path / "adapted", init=trained[0], said=said)
    assert "as in the bundle that is started from: hidden_size" in said
    assert any(line.startswith("started from ") and "new:" not in line for line in said)
    before, after = read_bundle(trained[0]), read_bundle(tmp_path / "adapted")
    assert after.config.model["config"]["hidden_size"] == 32
    assert fitting_pipeline(after).vocabulary() == fitting_pipeline(before).vocabulary()
    found = measured(tmp_path / "adapted", folder / "valid.txt")
    assert found["mlm_loss"] < 0.8 * measured(trained[0], folder / "valid.txt")["mlm_loss"]


def measured(bundle, file):
    answer = softquery("evaluate", bundle, "--data", file, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_a_bundle_is_measured_on_any_text(trained, data):
    """The same file, hidden in the same way, gives what the run found at this length."""
    found = measured(trained[0], data / "valid.txt")
    assert found["n"] > 50
    assert found["length"] == 48
    long = read_bundle(trained[0]).metrics["dev"]["long"]
    for name in ("mlm_loss", "mlm_accuracy", "nsp_accuracy"):
        assert found[name] == pytest.approx(long[name], rel=1e-5)
    assert found["pieces"] > 300
    answer = softquery("evaluate", trained[0], "--data", data / "valid.txt")
    assert "mlm_accuracy" in answer.out
    answer = softquery("evaluate", trained[0], "--data", data / "valid.txt", "--order")
    assert (answer.code, answer.out) == (2, "")


def test_a_column_of_a_table_is_adapted_to(trained, tmp_path):
    rows = "".join(f"A man eats at home {n}. He sings.\tsame\n" for n in range(40))
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text(f"sentence1\tlabel\n{rows}")
    answer = softquery("train", "bert-tiny", "--data", tmp_path, "--output", tmp_path / "model",
                       "--columns", "text=sentence1", "--init", trained[0],
                       *settings(**EPOCHS, training__max_steps=2))  # fmt: skip
    assert answer.code == 0, answer.err


def test_numbered_text_is_trained_on_as_the_text_is(data, undisturbed, tmp_path):
    made = run(**RESUMED)
    go(override(made, ["training.max_steps=1"]), data, tmp_path / "first")
    pipeline = fitting_pipeline(read_bundle(tmp_path / "first"))
    splits = {
        split: lambda split=split: read_lines(find_texts(data, split))
        for split in ("train", "valid")
    }
    write_numbered(tmp_path / "corpus", pipeline, splits)
    assert read_documents(tmp_path / "corpus").totals["train"] > 1000
    go(made, tmp_path / "corpus", tmp_path / "model")
    found, wanted = tmp_path / "model", undisturbed
    assert (found / "model.safetensors").read_bytes() == (wanted / "model.safetensors").read_bytes()


def test_numbered_text_must_fit_the_bundle_to_start_from(trained, data, tmp_path):
    made = run(**EPOCHS, training__max_steps=1, pieces__size=90)
    go(made, data, tmp_path / "other")
    pipeline = fitting_pipeline(read_bundle(tmp_path / "other"))
    texts = {split: lambda: read_lines(find_texts(data, "valid")) for split in ("train", "valid")}
    write_numbered(tmp_path / "corpus", pipeline, texts)
    with pytest.raises(InputError, match="is numbered differently from .*; give the text itself"):
        go(run(), tmp_path / "corpus", tmp_path / "out", init=trained[0])


def test_a_vocabulary_can_be_given(trained, data, tmp_path):
    entries = fitting_pipeline(read_bundle(trained[0])).vocabulary()
    (tmp_path / "vocab.txt").write_text("".join(f"{entry}\n" for entry in [*entries, "home"]))
    said: list[str] = []
    go(run(**EPOCHS, training__max_steps=1, pieces__given=tmp_path / "vocab.txt"), data,
       tmp_path / "model", said=said)  # fmt: skip
    assert not [line for line in said if line.startswith("learning")]
    bundle = read_bundle(tmp_path / "model")
    found = fitting_pipeline(bundle)
    assert bundle.config.model["config"]["vocab_size"] == len(found.vocabulary()) == 201
    assert found.token_id("home") == 200  # the later of two places counts


def test_ours_is_opened_by_transformers_and_theirs_is_gone_on_with(trained, data, tmp_path):
    transformers = pytest.importorskip("transformers", reason="opens what is published")
    answer = softquery("export", trained[0], "--form", "huggingface", "--output",
                       tmp_path / "theirs", "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    model = transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "theirs").eval()
    texts = ["A man eats at home.", "Naïve 漢字 [MASK] unknown!"]
    bundle = read_bundle(trained[0])
    pipeline, ours = fitting_pipeline(bundle), load_encoder(bundle)
    for text in texts:
        inputs = tokenizer(text, return_tensors="pt")
        ids = pipeline.encode_ids([text])
        assert inputs["input_ids"].tolist() == ids
        mask = torch.ones(1, len(ids[0]), dtype=torch.bool)
        with torch.no_grad():
            states = ours.encode(Tokens(torch.tensor(ids), mask)).states
            wanted = model(**inputs).prediction_logits[0]
        torch.testing.assert_close(ours.word_logits(states[0]), wanted, rtol=1e-4, atol=1e-4)
    answer = softquery("import", "bert", tmp_path / "theirs", "--output", tmp_path / "back")
    assert answer.code == 0, answer.err
    said: list[str] = []
    go(run(**EPOCHS, training__max_steps=2), data, tmp_path / "more", init=tmp_path / "back",
       said=said)  # fmt: skip
    assert any(line.startswith("started from ") and "new:" not in line for line in said)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["export", "MODEL", "--int8"], "int8 needs text for its gate; name a file with --data"),
        (["export", "MODEL", "--drop-softmax"], "--drop-softmax is for embedders"),
        (
            ["export", "MODEL", "--form", "gguf"],
            "must be one of onnx, huggingface, elmo, got",
        ),
        (["export", "MODEL", "--form", "huggingface"], "name it with --output"),
        (["embed", "FILE", "--model", "MODEL", "--output", "x.npz", "--stateful"], "by itself"),
        (["match", "a", "b", "--model", "MODEL"], "expected"),
    ],
)
def test_other_verbs_say_what_an_encoder_is_not(words, line, trained, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = {"MODEL": trained[0], "FILE": data / "valid.txt"}
    answer = softquery(*(places.get(word, word) for word in words))
    assert (answer.code, answer.out) == (2, "")
    assert line in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.fixture(scope="module")
def small(trained, data, tmp_path_factory):
    """The same as int8, as a model of one's own that has a name."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "models" / "my-bert"
    answer = softquery("export", trained[0], "--output", folder, "--int8", "--gate", 50, "--data",
                       data / "valid.txt", "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["precision"] == "int8"
    return home, json.loads(answer.out)


def test_int8_predicts_about_as_well(trained, data, small):
    home, report = small
    figures = [
        json.loads(softquery("evaluate", model, "--data", data / "valid.txt", "--json").out)
        for model in (trained[0], home / "models" / "my-bert")
    ]
    gate = report["gate"]
    assert gate["n"] == figures[0]["n"] == figures[1]["n"]
    for figure, wanted in zip(figures, (gate["float32"], gate["int8"]), strict=True):
        assert figure["mlm_loss"] == pytest.approx(np.log(wanted), rel=1e-4)
    assert gate["lost_points"] < 5
    # Of so small a model the graphs are the larger part.
    weights = [model / "model.safetensors" for model in (home / "models" / "my-bert", trained[0])]
    assert weights[0].stat().st_size < weights[1].stat().st_size


def test_a_named_encoder_embeds_and_is_gone_on_with(data, small, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTQUERY_HOME", str(small[0]))
    answer = softquery("embed", "--text", "a man eats", "--model", "my-bert", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert np.shape(found["vectors"]) == (3, len(found["tokens"]), 32)
    answer = softquery("train", "bert-tiny", "--data", data, "--output", tmp_path / "more",
                       "--init", "my-bert", *settings(**EPOCHS, training__max_steps=1))  # fmt: skip
    assert answer.code == 0, answer.err
    (line,) = (line for line in answer.err.splitlines() if line.startswith("started from "))
    assert "new:" not in line
    stored = load_file(tmp_path / "more" / "model.safetensors")
    assert {values.dtype.name for values in stored.values()} == {"float32"}


def test_a_head_stands_on_int8_by_its_name(small, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTQUERY_HOME", str(small[0]))
    numbers = ((number, ("man", "child")[number % 2]) for number in range(60))
    rows = "".join(f"a {who} eats {number}\t{who}\n" for number, who in numbers)
    (tmp_path / "moods").mkdir()
    for split in ("train", "dev"):
        (tmp_path / "moods" / f"{split}.tsv").write_text("text\tlabel\n" + rows)
    answer = softquery(
        "train", "bert-classify", "--data", tmp_path / "moods", "--output", tmp_path / "head",
        "--set", "bert.bundle=my-bert", "--set", "training.max_steps=2",
        "--set", "data.tune_share=0.2",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "new: output.bias, output.weight" in answer.err


@pytest.mark.slow
def test_two_processes_train_as_one(data, tmp_path):
    """The same steps but for rounding: what is hidden does not depend on who hides it."""
    words = settings(**EPOCHS, training__max_steps=4, model__dropout=0, data__long_share=0)
    common = ["train", "bert-tiny", "--data", data, *words]
    answer = softquery(*common, "--output", tmp_path / "one")
    assert answer.code == 0, answer.err
    two = [finish(each) for each in start_ranks(*common, "--output", tmp_path / "two")]
    assert [each.code for each in two] == [0, 0], two
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    losses = [read_bundle(tmp_path / name).metrics["dev"]["mlm_loss"] for name in ("one", "two")]
    assert losses[0] == pytest.approx(losses[1], rel=0.2)
