"""What a run leaves behind, and what its settings do to it."""

import csv
import json
import re

import numpy as np
import pytest
import torch
from running import settings, softquery, train
from safetensors.numpy import load_file
from tiny_pairs import chinese, english, graded, inference, write_folder

import softquery as sq
from softquery.data import split_rows
from softquery.files import read_rows

pytestmark = pytest.mark.xdist_group("features")

COLUMNS = ("sentence1", "sentence2", "label")
STILL = {"lr": 1e-20}
"""A learning rate that leaves every weight where it starts."""
ONE_STEP = {"max_steps": 1}
PNG = b"\x89PNG\r\n\x1a\n"


def weights(bundle):
    return load_file(bundle / "model.safetensors")


def config(bundle):
    return json.loads((bundle / "config.json").read_text(encoding="utf-8"))


def log(bundle):
    with open(bundle / "training" / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def assert_equal(left, right, names=None, *, atol=0.0):
    for name in names or left:
        np.testing.assert_allclose(left[name], right[name], rtol=0, atol=atol, err_msg=name)


# What a run leaves behind


def test_the_answer_for_machines(english_run):
    folder, answer = english_run
    found = json.loads(answer.out)
    assert found["bundle"] == str(folder)
    assert found["dev"]["accuracy"] >= 0.9
    assert found["dev"]["n"] == 60
    low, high = found["dev"]["accuracy_interval"]
    assert low <= found["dev"]["accuracy"] <= high
    assert found["training"]["dev_rows_in_train"] == 0
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert found == {"bundle": str(folder), **metrics}


def test_the_lines_for_people(english_run, english_data):
    _, answer = english_run
    lines = answer.err.splitlines()
    assert lines[:2] == [f"reading {english_data / name}.tsv" for name in ("train", "dev")]
    assert re.fullmatch(r"vocabulary: \d+ entries \(words\)", lines[2])
    assert lines[3] == "272 pairs to train on, 68 held back to tune by"
    number = r"\d+\.\d{4}"
    assert re.fullmatch(
        rf"epoch 1: loss {number}  tune accuracy {number}  tune loss {number}  [\d,]+ examples/s"
        r"  \(best so far\)",
        lines[4],
    )
    assert lines[-1].startswith("bundle written: ")


def test_the_table_for_people(english_data, tmp_path):
    answer = train("esim", english_data, tmp_path / "model", *settings(training=ONE_STEP))
    assert re.search(r"accuracy\D+0\.\d{4}", answer.out)
    assert re.search(r"\bn\b\D+60\b", answer.out)


def test_the_settled_settings_are_kept(english_run):
    folder, _ = english_run
    run = json.loads((folder / "training" / "run.json").read_text(encoding="utf-8"))
    assert (run["name"], run["model_name"]) == ("esim", "esim")
    assert run["optim"]["lr"] == 0.01
    assert run["training"]["patience"] == 3
    assert run["task"]["labels"] == ["different", "same"]
    assert run["model"]["vocab_size"] == len(weights(folder)["embedder.table.weight"])
    assert run["model"]["output_size"] == 2
    assert run["schedule"]["warmup_steps"] == 4
    assert re.fullmatch(r"[0-9a-f]{16}", run["data_fingerprint"])


def test_curves_and_tensorboard(english_run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, _ = english_run
    picture = (folder / "training" / "curves.png").read_bytes()
    assert picture.startswith(PNG)
    assert picture.rstrip(b"\0").endswith(b"IEND\xaeB`\x82")
    events = EventAccumulator(str(folder / "training" / "tensorboard")).Reload()
    assert set(events.Tags()["scalars"]) >= {"loss", "lr", "tune_accuracy", "tune_loss"}
    rows = [row for row in log(folder) if row["loss"]]
    assert [event.step for event in events.Scalars("loss")] == [int(row["step"]) for row in rows]


def test_the_card_says_what_was_done(english_run):
    folder, _ = english_run
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith('---\nlicense: "other"\nlicense_name: "unstated"\n')
    assert "| train | 272 | unstated |" in card
    assert "| recipe | esim |" in card
    assert re.search(r"\| accuracy \| [01]\.\d{4} \| .* to .* \| 60 \| dev \|", card)


def test_the_best_weights_are_those_of_the_bundle(english_run, english_data):
    """The held-back loss differs from epoch to epoch: it tells which weights were kept."""
    folder, answer = english_run
    epochs = [row for row in log(folder) if row["tune_accuracy"]]
    scores = [float(row["tune_accuracy"]) for row in epochs]
    training = json.loads(answer.out)["training"]
    best = scores.index(max(scores))
    assert training["best_epoch"] == best + 1
    assert training["best_epoch"] < training["epochs"] == len(epochs)

    rows = list(read_rows(english_data / "train.tsv", columns=COLUMNS))
    _, held_back = split_rows(rows, share=0.2, seed=1)
    evaluation = sq.evaluate(sq.load(folder), held_back)
    assert evaluation.report()["accuracy"] == pytest.approx(scores[best], abs=1e-6)
    chosen = evaluation.probabilities[np.arange(len(held_back)), evaluation.gold]
    losses = [float(row["tune_loss"]) for row in epochs]
    assert -np.log(chosen).mean() == pytest.approx(losses[best], rel=1e-4)
    assert losses[best] != pytest.approx(losses[-1], rel=1e-2)


# How a run is steered


def test_patience_ends_it(english_run):
    folder, answer = english_run
    training = json.loads(answer.out)["training"]
    assert training["epochs"] == training["best_epoch"] + 3 < 20
    assert training["steps"] == 17 * training["epochs"]
    assert len(log(folder)) == training["steps"] + training["epochs"]


def rates(folder, scale):
    return [float(row["lr"]) / scale for row in log(folder) if row["lr"]]


def test_the_rate_warms_up(english_run):
    assert rates(english_run[0], 0.01)[:6] == pytest.approx([0.25, 0.5, 0.75, 1, 1, 1])


def test_the_rate_is_halved_on_a_plateau(english_run):
    folder, answer = english_run
    best = json.loads(answer.out)["training"]["best_epoch"]
    after = rates(folder, 0.01)[17 * best :: 17]
    assert after == pytest.approx([1, 0.5, 0.25])


def test_accumulation_changes_nothing(english_data, tmp_path):
    still = {"model": {"dropout": 0}, "optim": {"lr": 0.001}}
    for parts in (1, 4):
        words = settings(**still, training={"max_steps": 10, "accumulate": parts})
        train("esim", english_data, tmp_path / str(parts), *words)
    assert_equal(weights(tmp_path / "1"), weights(tmp_path / "4"), atol=1e-6)


def test_clipping_holds_the_step_back(english_data, tmp_path):
    """Adam divides by the gradient's size; far below `eps` that no longer makes up for a cut."""
    runs = {
        "start": STILL,
        "free": {"lr": 0.01, "clip_norm": 0},
        "cut": {"lr": 0.01, "clip_norm": 1e-9},
    }
    for name, optim in runs.items():
        words = settings(model={"dropout": 0}, optim=optim, training=ONE_STEP)
        train("esim", english_data, tmp_path / name, *words)
    start, free, cut = (weights(tmp_path / name) for name in runs)
    moved = max(np.abs(free[name] - start[name]).max() for name in start)
    held = max(np.abs(cut[name] - start[name]).max() for name in start)
    assert moved == pytest.approx(0.01, rel=0.01)
    assert 0 < held < 0.002


def test_bfloat16_trains_to_finite_float32_weights(english_data, tmp_path):
    words = settings(training={"max_epochs": 1, "log_every": 1, "precision": "bf16-mixed"})
    train("esim", english_data, tmp_path / "model", *words)
    losses = [float(row["loss"]) for row in log(tmp_path / "model") if row["loss"]]
    assert len(losses) == 21
    assert np.isfinite(losses).all()
    for name, value in weights(tmp_path / "model").items():
        assert value.dtype == np.float32, name
        assert np.isfinite(value).all(), name


def test_seeds_differ_and_equal_seeds_do_not(english_data, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train("esim", english_data, tmp_path / name, *settings(training=ONE_STEP), "--seed", seed)
    first, again, other = (weights(tmp_path / name) for name in "abc")
    assert_equal(first, again)
    assert not np.array_equal(first["project.0.weight"], other["project.0.weight"])


# Starting from a bundle


def test_init_with_the_same_labels_takes_every_weight(english_run, english_data, tmp_path):
    """Sizes and vocabulary come along, whatever the recipe says."""
    start, _ = english_run
    words = ["--init", start, "--set", "optim.lr=1e-20", "--set", "training.max_steps=1"]
    answer = train("esim", english_data, tmp_path / "model", *words)
    given = weights(start)
    assert f"started from {len(given)} of {len(given)} weights\n" in answer.err
    assert (
        "as in the bundle that is started from: embedding_size = 8, hidden_size = 8" in answer.err
    )
    assert_equal(given, weights(tmp_path / "model"))
    for name in ("tokenizer.json", "config.json"):
        wanted = (
            (start / name).read_text(encoding="utf-8").replace('"dropout": 0.1', '"dropout": 0.5')
        )
        assert (tmp_path / "model" / name).read_text(encoding="utf-8") == wanted


@pytest.mark.parametrize("count", [2, 3])
def test_init_with_other_labels_gets_a_new_last_layer(english_run, tmp_path, count):
    """As many labels as before do not make them the same ones."""
    start, _ = english_run
    names = {"same": "ja", "different": "nein"}
    rows = [(one, two, names[label]) for one, two, label in english(150, seed=2)]
    data = write_folder(tmp_path / "data", rows if count == 2 else inference(150))
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("esim", data, tmp_path / "model", *words, "--init", start)
    new = {"classifier.4.bias", "classifier.4.weight"}
    assert "; new: classifier.4.bias, classifier.4.weight\n" in answer.err
    given, made = weights(start), weights(tmp_path / "model")
    assert_equal(given, made, set(given) - new)
    assert made["classifier.4.weight"].shape == (count, 8)
    assert not np.array_equal(made["classifier.4.weight"], given["classifier.4.weight"])
    assert (tmp_path / "model" / "tokenizer.json").read_bytes() == (
        start / "tokenizer.json"
    ).read_bytes()


def test_init_keeps_the_order_of_the_labels(inference_run, tmp_path):
    """Found in a file they would be sorted, and each weight would speak for another label."""
    start, data = inference_run
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("siamese", data, tmp_path / "model", *words, "--init", start)
    assert "new:" not in answer.err
    labels = ["entailment", "neutral", "contradiction"]
    assert config(tmp_path / "model")["task"]["labels"] == labels
    assert_equal(weights(start), weights(tmp_path / "model"))


def test_init_takes_what_fits_of_another_model(english_run, english_data, tmp_path):
    words = settings(optim=STILL, training=ONE_STEP)
    answer = train("siamese", english_data, tmp_path / "model", *words, "--init", english_run[0])
    assert "new: head.layers.1.bias, head.layers.1.weight" in answer.err
    given, made = weights(english_run[0]), weights(tmp_path / "model")
    assert_equal(given, made, ["embedder.table.weight", "encoder.forwards.weight_hh_l0"])


def test_init_and_vectors_exclude_each_other(english_run, english_data, glove, tmp_path):
    command = ["train", "esim", "--data", english_data, "--output", tmp_path / "model"]
    answer = softquery(*command, "--init", english_run[0], "--vectors", glove)
    assert answer.code == 2
    assert answer.err.endswith(
        "softquery: --init brings its own word vectors; leave --vectors away\n"
    )
    assert list(tmp_path.iterdir()) == [glove]


# Words and vectors


@pytest.fixture
def glove(tmp_path):
    """Vectors of five words, two of which no sentence holds."""
    words = ("man", "the", "sleeps", "unheard", "unseen")
    lines = [f"{word} {place}.5 -{place}.25 0.125" for place, word in enumerate(words)]
    path = tmp_path / "glove.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_vectors_fill_the_table(english_data, glove, tmp_path):
    words = settings(optim=STILL, training=ONE_STEP, vocabulary={"from_vectors": 4})
    answer = train("esim", english_data, tmp_path / "model", *words, "--vectors", glove)
    matcher = sq.load(tmp_path / "model")
    table = weights(tmp_path / "model")["embedder.table.weight"]
    assert table.shape == (matcher.pipeline.vocab_size, 3)
    found = {word: matcher.pipeline.token_id(word) for word in ("man", "the", "sleeps", "unheard")}
    assert table[[found["man"], found["the"], found["unheard"]]].tolist() == [
        [0.5, -0.25, 0.125],
        [1.5, -1.25, 0.125],
        [3.5, -3.25, 0.125],
    ]
    assert matcher.pipeline.token_id("unseen") is None
    counted = matcher.pipeline.vocab_size - 4  # the reserved ones are no words
    assert re.search(
        rf"glove\.txt: 4 of {counted} words found \(\d+\.\d %\); missing: ", answer.err
    )


def test_two_files_of_vectors_lie_side_by_side_and_stay_frozen(english_data, glove, tmp_path):
    words = settings(optim={"lr": 0.01}, training={"max_steps": 3}, vocabulary={"frozen": "true"})
    answer = train(
        "esim", english_data, tmp_path / "model", *words, "--vectors", glove, "--vectors", glove
    )
    assert answer.err.count("words found") == 2
    table = weights(tmp_path / "model")["embedder.table.weight"]
    assert table.shape[1] == 6
    place = sq.load(tmp_path / "model").pipeline.token_id("sleeps")
    assert table[place].tolist() == [2.5, -2.25, 0.125] * 2


def test_what_was_cut_is_said(english_data, tmp_path):
    words = settings(training=ONE_STEP, text={"max_tokens": 5})
    answer = train("esim", english_data, tmp_path / "model", *words)
    for split in ("train", "held back", "dev"):
        assert re.search(rf"{split}: \d+ sentences were cut at 5 tokens", answer.err)


def test_pairs_that_dev_shares_with_train_are_said(tmp_path):
    rows = english(100)
    data = write_folder(
        tmp_path / "data", [*rows, *rows[:7], *english(120, seed=1)[100:]], num_dev=27
    )
    answer = train("esim", data, tmp_path / "model", *settings(training=ONE_STEP), "--json")
    assert "warning: 7 of 27 dev pairs also stand in the training data" in answer.err
    assert json.loads(answer.out)["training"]["dev_rows_in_train"] == 7


def test_a_label_that_was_only_held_back_is_a_label(tmp_path):
    """Sixty rows hold three back; whichever they are, their labels belong to the task."""
    rows = [
        (one, two, "rare" if place == 0 else label)
        for place, (one, two, label) in enumerate(english(60))
    ]
    for seed in range(40):
        kept, held = split_rows(
            list(
                read_rows(
                    [dict(zip(COLUMNS, row, strict=True)) for row in rows[:-20]], columns=COLUMNS
                )
            ),
            share=0.05,
            seed=seed,
        )
        if "rare" in {row.values["label"] for row in held}:
            break
    data = write_folder(tmp_path / "data", rows, num_dev=20)
    train("esim", data, tmp_path / "model", *settings(training=ONE_STEP), "--seed", seed)
    assert config(tmp_path / "model")["task"]["labels"] == ["different", "rare", "same"]


# Recipes from end to end


TRADITIONAL = str.maketrans("医师农饭觉读书车园里桥楼", "醫師農飯覺讀書車園裡橋樓")


def test_chinese_and_traditional_writing_is_the_same(tmp_path):
    rows = [
        (one.translate(TRADITIONAL), two, label) if place % 3 else (one, two, label)
        for place, (one, two, label) in enumerate(chinese(300))
    ]
    data = write_folder(tmp_path / "data", rows)
    words = settings(optim={"lr": 0.01}, training={"max_epochs": 4})
    answer = train("esim-zh", data, tmp_path / "model", *words, "--json")
    assert json.loads(answer.out)["dev"]["accuracy"] > 0.8
    matcher = sq.load(tmp_path / "model")
    assert matcher.pipeline.token_id("讀") is None
    simplified = [
        ("老师在公园里读书。", "有个老师在公园里读书"),
        ("医生在桥上吃饭。", "没有医生在桥上吃饭"),
    ]
    traditional = [tuple(text.translate(TRADITIONAL) for text in pair) for pair in simplified]
    assert traditional[0][0] == "老師在公園裡讀書。"
    assert matcher.predict(traditional) == matcher.predict(simplified)
    assert [match.label for match in matcher.predict(traditional)] == ["1", "0"]
    assert 'language:\n- "zh"' in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_grades(graded_run):
    folder, _, answer = graded_run
    found = json.loads(answer.out)
    assert found["dev"]["spearman"] > 0.5
    assert set(found["dev"]) >= {"pearson", "mse", "n", "spearman_interval"}
    assert found["tune"]["spearman"] > 0
    matches = sq.load(folder).predict([pair[:2] for pair in graded(10)])
    assert all(match.label is None and 0 <= match.score <= 5 for match in matches)


def test_grades_that_are_all_alike_have_no_correlation(tmp_path):
    rows = graded(80)
    rows[-20:] = [(one, two, "2.5") for one, two, _ in rows[-20:]]
    data = write_folder(tmp_path / "data", rows, num_dev=20)
    words = settings(training=ONE_STEP)
    answer = train("siamese-graded", data, tmp_path / "model", *words, "--json")
    assert json.loads(answer.out)["dev"]["spearman"] is None
    assert "Nothing was measured." in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_siamese_classes(inference_run):
    folder, _ = inference_run
    found = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert found["dev"]["accuracy"] > 0.5
    assert set(found["dev"]["confusion"]) == {"entailment", "neutral", "contradiction"}
    assert config(folder)["model"]["name"] == "siamese"


# Files of other forms


@pytest.fixture(scope="module")
def forms(english_data, tmp_path_factory):
    """The same rows under other endings and with other names."""
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra [parquet]")
    import pyarrow.csv
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("forms")
    (folder / "packed").mkdir()
    (folder / "renamed").mkdir()
    for split in ("train", "dev"):
        rows = [row.values for row in read_rows(english_data / f"{split}.tsv", columns=COLUMNS)]
        table = pyarrow.Table.from_pylist(rows)
        renamed = table.rename_columns(["question", "other", "verdict"])
        if split == "train":
            with pyarrow.CompressedOutputStream(str(folder / "packed/train.csv.gz"), "gzip") as out:
                pyarrow.csv.write_csv(table, out)
            pyarrow.parquet.write_table(renamed, folder / "renamed/train.parquet")
        else:
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / "packed/dev.jsonl").write_text(lines, encoding="utf-8")
            renamed_lines = (json.dumps(row) + "\n" for row in renamed.to_pylist())
            (folder / "renamed/dev.jsonl").write_text("".join(renamed_lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        ("packed", []),
        ("renamed", ["--columns", "sentence1=question,sentence2=other,label=verdict"]),
    ],
)
def test_other_forms_of_files_train_the_same(english_data, forms, tmp_path, form, columns):
    words = settings(training={"max_steps": 2})
    train("esim", english_data, tmp_path / "tsv", *words)
    train("esim", forms / form, tmp_path / form, *words, *columns)
    assert_equal(weights(tmp_path / "tsv"), weights(tmp_path / form))


# The list of recipes


def test_recipes_are_listed_with_their_settings():
    listed = json.loads(softquery("recipes", "--json").out)
    assert "esim-zh" in [entry["name"] for entry in listed]
    shown = json.loads(softquery("recipes", "esim-snli", "--json").out)
    assert shown["task"]["labels"] == ["entailment", "neutral", "contradiction"]
    assert "optim.lr" in softquery("recipes", "esim").out


def test_the_random_state_of_the_caller_is_not_what_decides(english_data, tmp_path):
    for name in ("one", "two"):
        torch.manual_seed(len(name) + ord(name[0]))
        train("esim", english_data, tmp_path / name, *settings(training=ONE_STEP))
    assert_equal(weights(tmp_path / "one"), weights(tmp_path / "two"))
