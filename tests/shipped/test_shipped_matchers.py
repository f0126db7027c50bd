import json
import random

import pytest
from facts import FOLDER
from finish import finish, options_of

from small_bundles import WORDS, make_bundle
from softquery.bundle import RECORDS, read_bundle
from softquery.errors import BundleError, InputError
from softquery.runtime import load

KEYS = {"dev", "sources", "seeds", "probes", "int8", "export", "order", "calibration"}


def write_rows(path, count, seed):
    draw = random.Random(seed)
    with path.open("w") as file:
        for place in range(count):
            sides = [" ".join(draw.choices(WORDS, k=draw.randint(2, 8))) for _ in range(2)]
            row = {"sentence1": sides[0], "sentence2": sides[1], "label": str(draw.randint(0, 1)),
                   "source": "ab"[place % 3 == 0]}  # fmt: skip
            file.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finish")
    for seed in (1, 2):
        bundle = make_bundle(folder / f"run-{seed}", outputs=2, size=16, seed=seed)
        metrics = {**read_bundle(bundle).metrics, "training": {"seed": seed}}
        (bundle / "metrics.json").write_text(json.dumps(metrics))
        (bundle / RECORDS).mkdir()
        settings = {"name": "esim", "vectors": ["/secret/glove.bin"], "training": {"seed": seed}}
        (bundle / RECORDS / "run.json").write_text(json.dumps(settings))
        (bundle / RECORDS / "log.csv").write_text("bulky\n")
    write_rows(folder / "dev.jsonl", 121, 1)
    write_rows(folder / "tune.jsonl", 40, 2)
    data = [{"name": "a", "rows": 9, "licence": "research"}]
    facts = json.loads((FOLDER / "match-en.json").read_text(encoding="utf-8"))
    (folder / "facts.json").write_text(json.dumps({**facts, "data": data}))
    (folder / "probes.tsv").write_text(
        "sentence1\tsentence2\tlabel\tkind\nw1 w2\tw2 w1\t0\torder\nw1\tw1 w3\t1\tparaphrase\n"
    )
    return folder


def arguments(place, output, *more, runs=("run-1", "run-2")):
    files = {"--data": ".", "--facts": "facts.json", "--probes": "probes.tsv", "--output": output}
    named = [text for name, value in files.items() for text in (name, str(place / value))]
    seeds = [str(place / run) for run in runs]
    return options_of(["match-en", "--runs", *seeds, *named, "--threads", "1", "--json", *more])


@pytest.fixture(scope="module")
def finished(place):
    return finish(arguments(place, "out"))


def test_a_bundle_is_written_that_answers_as_it_was_measured(place, finished):
    metrics, _ = finished
    bundle = read_bundle(place / "out")
    assert set(bundle.metrics) >= KEYS
    assert bundle.metrics == json.loads(json.dumps(metrics))
    assert bundle.calibration["temperature"] == load(place / "out").calibration.temperature
    assert bundle.calibration["fitted_on"] == 60
    assert sum(part["n"] for part in metrics["sources"].values()) == 121
    assert metrics["dev"]["n"] == 121


def test_the_seed_is_chosen_by_tune_alone(finished):
    seeds = finished[0]["seeds"]
    best = max(seeds["runs"], key=lambda seed: seeds["runs"][seed]["tune"])
    assert seeds["shipped"] == best
    assert set(seeds["runs"]) == {"1", "2"}


def test_only_small_records_come_along_without_paths(place, finished):
    names = {path.name for path in (place / "out" / RECORDS).iterdir()}
    assert "run.json" in names
    assert "log.csv" not in names
    assert "secret" not in (place / "out" / RECORDS / "run.json").read_text()
    assert "secret" not in read_bundle(place / "out").card


def test_checks_say_what_fails(finished):
    found = {check.what: check.passed for check in finished[1]}
    assert found["size under 15 MB"]
    assert (
        found["ECE at most 0.02, pooled, every set counting alike"] is False
    )  # the labels are drawn at random


def test_int8_outside_of_the_gate_is_told(place):
    metrics, found = finish(arguments(place, "refused", "--gate", "-100"))
    assert metrics["export"]["precision"] == "float32"
    assert [check.passed for check in found if check.what.startswith("int8")] == [False]
    assert "lost to int8" not in read_bundle(place / "refused").card


def test_mistakes_are_told_in_one_line(place, finished):
    with pytest.raises(InputError, match="exists already"):
        finish(arguments(place, "out"))
    with pytest.raises(InputError, match="different seeds, got 1, 1"):
        finish(arguments(place, "new", runs=("run-1", "run-1")))
    with pytest.raises(BundleError, match="int8 already"):
        finish(arguments(place, "new", runs=("out",)))
