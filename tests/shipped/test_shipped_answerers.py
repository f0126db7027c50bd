"""From seeds of classifiers, readers and taggers to what is shipped."""

import json
import shutil

import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")

from facts import read_facts
from finish import finish, main, options_of

from small_classifiers import make_classifier, random_texts
from small_readers import answered, make_reader, random_questions
from small_taggers import PLAIN, make_tagger, random_sentences
from softquery.bundle import RECORDS, read_bundle
from softquery.errors import BundleError, InputError
from softquery.runtime import load

SIGNS = ("negative", "positive")
MAKERS = {
    "sentiment-en": lambda folder, seed: make_classifier(folder, size=8, labels=SIGNS, seed=seed),
    "read-en": lambda folder, seed: make_reader(folder, seed=seed),
    "tagger-en": lambda folder, seed: make_tagger(folder, tags=PLAIN, seed=seed),
}
NUM_ROWS = 24
FACTS = {name: read_facts(name) for name in MAKERS}


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def made_up(name, seed):
    """Rows of the model's task, of any quality."""
    if name == "sentiment-en":
        texts = random_texts(NUM_ROWS, seed=seed)
        return [{"text": text, "label": SIGNS[len(text) % 2]} for text in texts]
    if name == "read-en":
        return [
            {"question": row.question, "context": row.context,
             "answers": [{"text": row.answers[0].text, "answer_start": 0}]}
            for row in answered(random_questions(NUM_ROWS, seed=seed))
        ]  # fmt: skip
    return [
        {"tokens": words, "tags": [PLAIN.labels[len(word) % 3] for word in words]}
        for words in random_sentences(NUM_ROWS, seed=seed)
    ]


def write_seed(folder, name, seed):
    """A bundle as training leaves it: the later the seed, the better on what was held back."""
    metric = FACTS[name].metric
    bundle = MAKERS[name](folder / name / f"seed-{seed}", seed)
    metrics = {
        "dev": {metric: 0.9 - seed / 10, "n": NUM_ROWS},
        "tune": {metric: 0.5 + seed / 10, "n": 9},
        "training": {"seed": seed, "epochs": 2, "best_epoch": 1, "steps": 9, "seconds": 1.0},
    }
    (bundle / "metrics.json").write_text(json.dumps(metrics))
    (bundle / RECORDS / "tensorboard").mkdir(parents=True)
    settings = {"name": name, "vectors": ["/far/away/glove.bin"], "training": {"seed": seed}}
    (bundle / RECORDS / "run.json").write_text(json.dumps(settings))
    for left in ("log.csv", "tensorboard/events", "curves.png"):
        (bundle / RECORDS / left).write_text("bulky\n")
    return bundle


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    for name in FACTS:
        data = folder / name / "data"
        data.mkdir(parents=True)
        for number, split in enumerate(("train", "dev", "more", "tune")):
            write_lines(data / f"{split}.jsonl", made_up(name, number))
        for seed in (1, 2):
            write_seed(folder, name, seed)
    return folder


def arguments(place, name, output, *more, seeds=("seed-1", "seed-2")):
    own = place / name
    where = ["--data", str(own / "data"), "--output", str(own / output)]
    also = [f"--also=more={own / 'data' / 'more.jsonl'}"]
    return [name, "--runs", *(str(own / seed) for seed in seeds), *where, *also, *more]


@pytest.fixture(scope="module", params=list(FACTS))
def finished(request, place):
    name = request.param
    metrics, found = finish(options_of(arguments(place, name, "out", "--gate", "100")))
    return name, place / name / "out", metrics, found


def test_a_bundle_is_written_that_says_what_was_measured(finished):
    name, folder, metrics, found = finished
    bundle, metric = read_bundle(folder), FACTS[name].metric
    assert bundle.metrics == json.loads(json.dumps(metrics))
    assert {FACTS[name].dev, "more"} <= set(metrics["sets"])
    assert metrics["seeds"]["mean"] == pytest.approx(0.75)
    assert metrics["export"]["precision"] == "int8"
    assert all(check.passed for check in found)
    for line in (f"# {name}", f"| {metric} |", f"{metric}, mean of 2 seeds, float32 (0.7000 to",
                 "more, int8", "| pretrained vectors | glove.bin |", "- Size: 0."):  # fmt: skip
        assert line in bundle.card
    assert load(folder).backend.name == "onnx"


def test_the_seed_is_chosen_by_what_was_held_back(finished):
    """The other one is better on dev, which must not matter."""
    _, folder, metrics, _ = finished
    assert metrics["seeds"]["shipped"] == "2"
    assert sorted(path.name for path in (folder / RECORDS).iterdir()) == ["curves.png", "run.json"]
    run = json.loads((folder / RECORDS / "run.json").read_text())
    assert (run["training"]["seed"], run["vectors"]) == (2, ["glove.bin"])


def test_a_classifier_is_calibrated_and_the_others_are_not(finished):
    name, folder, _, _ = finished
    bundle = read_bundle(folder)
    assert (bundle.calibration is not None) == (name == "sentiment-en")
    if bundle.calibration:
        assert bundle.calibration["fitted_on"] == NUM_ROWS // 2
        assert "**For research only**" in bundle.card


def test_int8_outside_of_the_gate_ends_with_1(place, capsys):
    given = arguments(place, "read-en", "refused", "--gate", "-100")
    assert main(given) == 1
    assert "finish: not good enough, int8 within -100 of f1: " in capsys.readouterr().err


def test_bad_input_ends_with_2_and_one_line(place, capsys):
    given = arguments(place, "read-en", "new", seeds=("seed-1", "seed-1"))
    assert main(given) == 2
    assert capsys.readouterr().err == "finish: expected different seeds, got 1, 1\n"


def changed(place, name, edit):
    """A copy of a seed whose metrics say something else."""
    copy = shutil.copytree(place / name / "seed-1", place / name / "changed", dirs_exist_ok=True)
    metrics = json.loads((copy / "metrics.json").read_text())
    edit(metrics)
    (copy / "metrics.json").write_text(json.dumps(metrics))
    return ("changed",)


def test_mistakes_are_told_in_one_line(place, finished):
    name = finished[0]
    with pytest.raises(InputError, match="exists already"):
        finish(options_of(arguments(place, name, "out")))
    metric = FACTS[name].metric
    for edit, said in (
        (lambda given: given.pop("tune"), f"metrics.json has no {metric} on tune"),
        (lambda given: given["dev"].update(n=7), "was measured on 7 .*, but dev has 24"),
    ):
        seeds = changed(place, name, edit)
        with pytest.raises(BundleError, match=said):
            finish(options_of(arguments(place, name, "new", seeds=seeds)))
    other = "tagger-en" if name == "read-en" else "read-en"
    with pytest.raises(BundleError, match=f"expected a {FACTS[name].kind}, found kind"):
        finish(options_of(arguments(place, name, "new", seeds=(f"../{other}/seed-1",))))
    assert not (place / name / "new").exists()
