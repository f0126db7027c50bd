"""`shipped/finish.py elmo-en`, from the biLM of the package to the same one again."""

import json
import shutil

import pytest
from facts import FOLDER
from finish import main

from softquery.bundle import RECORDS, read_bundle, weights_fingerprint
from softquery.recipes import recipe
from softquery.zoo import resolve


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """An export as the recipe of today makes it, with what training leaves lying, and a 5-gram."""
    folder = tmp_path_factory.mktemp("elmo")
    shutil.copytree(resolve("elmo-en"), folder / "exported")
    change(folder / "exported" / RECORDS / "run.json", recipe("elmo-en").to_dict())
    (folder / "exported" / RECORDS / "log.csv").write_text("bulky\n")
    change(folder / "yardstick.json", {"runs": [gram(200_000, 300.0), gram(100_000, 250.0)]})
    return folder


def gram(vocabulary, perplexity):
    figures = {f"perplexity_{way}": perplexity for way in ("forwards", "backwards")}
    return {"vocabulary": vocabulary, "n": 5, **figures}


def change(path, data):
    path.write_text(json.dumps(data))


@pytest.fixture
def place(source, tmp_path):
    """A copy to be spoilt."""
    shutil.copytree(source, tmp_path / "place")
    return tmp_path / "place"


@pytest.fixture
def go(capsys):
    """Run the script; its exit code, and what it printed."""

    def run(place, output="out", *more, exported="exported", yardstick="yardstick.json"):
        words = ["elmo-en", "--runs", str(place / exported), "--figures", str(place / yardstick)]
        return main([*words, "--output", str(place / output), *more]), capsys.readouterr()

    return run


def test_the_model_of_the_package_comes_out_as_it_went_in(place, go):
    code, printed = go(place, "out", "--json")
    assert code == 0
    told = json.loads(printed.out)
    assert [check["passed"] for check in told["checks"]] == [True, True]
    assert told["checks"][1]["found"] == "+0.075 lost on 36,099 words"
    ours, theirs = read_bundle(place / "out"), read_bundle(resolve("elmo-en"))
    assert told["metrics"] == ours.metrics == theirs.metrics
    assert ours.config == theirs.config
    prints = [weights_fingerprint(each.read_weights()) for each in (ours, theirs)]
    assert prints[0] == prints[1]
    graphs = [
        {path.name: path.read_bytes() for path in (each.path / "onnx").iterdir()}
        for each in (ours, theirs)
    ]
    assert graphs[0] == graphs[1]
    lines = zip(ours.card.splitlines(), theirs.card.splitlines(), strict=True)
    changed = [line for line, other in lines if line != other]
    assert len(changed) == 2
    assert all("Kneser–Ney" in line and "| 250.0000 |" in line for line in changed)


def test_only_what_is_needed_is_kept(place, go):
    go(place)
    kept = {path.name for path in (place / "out" / RECORDS).iterdir()}
    assert kept == {"curves.png", "run.json"}
    run = json.loads((place / "out" / RECORDS / "run.json").read_text())
    assert run == json.loads(json.dumps(recipe("elmo-en").to_dict()))


def test_what_is_not_good_enough_exits_with_1(place, go):
    metrics = json.loads((place / "exported" / "metrics.json").read_text())
    metrics["export"]["gate"] |= {"accepted": False, "lost_points": 0.7}
    change(place / "exported" / "metrics.json", metrics)
    code, printed = go(place)
    assert code == 1
    assert printed.err == (
        "finish: not good enough, int8 within 0.5 of perplexity: +0.700 lost on 36,099 words\n"
    )
    facts = json.loads((FOLDER / "elmo-en.json").read_text(encoding="utf-8"))
    change(place / "facts.json", {**facts, "largest_mb": 1.0})
    code, printed = go(place, "out", "--replace", "--facts", str(place / "facts.json"))
    assert code == 1
    assert "not good enough, size under 1 MB: 8.0" in printed.err


def test_a_run_that_is_older_than_some_settings_had_their_defaults(place, go):
    """The package's own record knows less than the recipe of today."""
    path = place / "exported" / RECORDS / "run.json"
    shutil.copy(resolve("elmo-en") / RECORDS / "run.json", path)
    settings = json.loads(path.read_text())
    for part, name in (("text", "markers"), ("optim", "decayed"), ("optim", "layer_decay")):
        settings[part].pop(name, None)
    change(path, settings)
    code, printed = go(place)
    assert code == 0, printed.err
    written = json.loads((place / "out" / RECORDS / "run.json").read_text())
    assert (written["text"]["markers"], written["optim"]["decayed"]) == ([], "all")
    del settings["training"]["seed"], settings["optim"]["lr"]  # no default, or another
    change(path, settings)
    code, printed = go(place, "new")
    assert code == 2
    assert "is not that of the recipe elmo-en" in printed.err


def spoil_settings(place):
    settings = recipe("elmo-en").to_dict()
    settings["training"] = {**settings["training"], "seed": 7}
    change(place / "exported" / RECORDS / "run.json", settings)


def spoil_kind(place):
    config = json.loads((place / "exported" / "config.json").read_text())
    change(place / "exported" / "config.json", {**config, "kind": "encoder"})


def spoil_gate(place):
    metrics = json.loads((place / "exported" / "metrics.json").read_text())
    del metrics["export"]["gate"]
    change(place / "exported" / "metrics.json", metrics)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda place: shutil.rmtree(place / "exported"), "no such model folder"),
        (lambda place: (place / "exported" / RECORDS / "run.json").unlink(),
         "exported: has no training/run.json to compare with the recipe"),
        (lambda place: (place / "exported" / RECORDS / "run.json").write_text("{"),
         "run.json: broken JSON in line 1"),
        (spoil_settings, "exported: training.seed is not that of the recipe elmo-en: 7 ≠ 1"),
        (spoil_kind, "expected kind 'embedder', found 'encoder'"),
        (spoil_gate, "expected what softquery export --int8 wrote"),
        (lambda place: shutil.rmtree(place / "exported" / "onnx"),
         "expected what softquery export --int8 wrote"),
        (lambda place: (place / "yardstick.json").unlink(), "is no result of kneser_ney.py"),
        (lambda place: change(place / "yardstick.json", []), "is no result of kneser_ney.py"),
        (lambda place: change(place / "yardstick.json", {"runs": [gram(5, 2.0)]}),
         "has no run with a vocabulary of 100,000"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_exits_with_2_and_leaves_nothing(place, go, spoil, told):
    spoil(place)
    code, printed = go(place)
    assert code == 2
    (line,) = printed.err.splitlines()
    assert line.startswith("finish: ")
    assert told in line
    assert not (place / "out").exists()


def test_nothing_gives_way_unless_that_is_said(place, go):
    (place / "out").mkdir()
    code, printed = go(place)
    assert code == 2
    assert "exists already; name another --output or say --replace" in printed.err
    assert go(place, "out", "--replace")[0] == 0
