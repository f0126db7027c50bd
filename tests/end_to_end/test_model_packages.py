"""Models of other packages at the command line: found, missing, clashing, or hostile."""

import json
import os
import shutil
from pathlib import Path

import pytest
from running import finish, softquery, start
from tiny_texts import reviews, write_texts

import softquery as sq
from softquery.errors import BundleError
from softquery.zoo import IN_MODELS_PACKAGE, FoundPackages, ModelPackage, resolve

MISSING = "is not installed: pip install softquery-models"
DEFAULTS = {
    "tag hello": "tagger-en",
    "classify hello": "sentiment-en",
    "read Who --context Anna": "read-en",
    "generate Hallo": "translate-de-en",
}
"""Verbs whose default model is in softquery-models."""
NAMED = (
    "embed --text hello --model elmo-en",
    "match a b --model elmo-en",
    "rank a --candidates questions.txt --model elmo-en",
    "explain a b --model elmo-en --output why.svg",
    "models elmo-en",
    "models elmo-en --json",
    "evaluate elmo-en --data faq.csv",
    "export elmo-en --output out",
    "vectors nearest a --model elmo-en",
    "index faq.csv --output faq.sq --model elmo-en",
    "index faq.csv --output faq.sq --vectors elmo-en",
    "serve --model elmo-en --port 0",
    "bench match --model elmo-en",
    "train attention-bilstm --data data --output out --init elmo-en",
    "train sentiment-en --data data --output out",
    "train bert-classify --data data --output out --init bert-mini-en",
)
"""Verbs that are asked for one of its models."""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A working folder with questions and labelled texts, and no local models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    (tmp_path / "faq.csv").write_text("question,answer\nHow?,So.\n")
    (tmp_path / "questions.txt").write_text("How?\n")
    data = write_texts(tmp_path / "data", reviews(60))
    shutil.copy(data / "dev.tsv", data / "tune.tsv")
    return tmp_path


@pytest.fixture
def without(place, monkeypatch) -> Path:
    """The same, without any package of models."""
    monkeypatch.setattr("softquery.zoo.zoo.find_packages", lambda: FoundPackages((), ()))
    return place


@pytest.mark.parametrize("command", DEFAULTS)
def test_a_default_model_that_is_not_installed_is_one_line(without, command):
    answer = softquery(*command.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"softquery: {DEFAULTS[command]} {MISSING}\n"


@pytest.mark.parametrize("command", NAMED)
def test_a_model_that_is_not_installed_is_one_line(without, command):
    answer = softquery(*command.split())
    name = "bert-mini-en" if "bert-mini-en" in command else "elmo-en"
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-1] == f"softquery: {name} {MISSING}"
    assert "Traceback" not in answer.err
    assert sorted(path.name for path in without.iterdir()) == ["data", "faq.csv", "questions.txt"]


@pytest.mark.parametrize("name", IN_MODELS_PACKAGE)
def test_load_says_what_to_install(without, name):
    with pytest.raises(BundleError, match=f"^{name} {MISSING}$"):
        sq.load(name)


def test_the_list_says_what_to_install(without):
    told = softquery("models").out
    assert " ".join(told.split("\n")[-2:]).startswith(
        "not installed (pip install softquery-models)"
    )
    assert all(name in told for name in IN_MODELS_PACKAGE)
    listed = json.loads(softquery("models", "--json").out)
    assert [entry["name"] for entry in listed] == [
        "embed-en",
        "embed-zh",
        "match-en",
        "match-zh",
        "nli-en",
    ]


def test_the_list_tells_where_models_come_from(place):
    listed = {entry["name"]: entry for entry in json.loads(softquery("models", "--json").out)}
    assert (listed["nli-en"]["origin"], listed["nli-en"]["package"]) == ("shipped", "softquery")
    assert listed["elmo-en"]["origin"] == "package"
    assert listed["elmo-en"]["package"].startswith("softquery-models ")
    told = softquery("models").out
    assert told.index("match-en") < told.index("softquery-models ") < told.index("elmo-en")
    assert "not installed" not in told
    assert softquery("models", "tagger-en").out.startswith("---\n")


def test_a_head_finds_its_base_in_another_package(place, monkeypatch):
    packages = []
    for name in ("tagger-en", "elmo-en"):
        shutil.copytree(resolve(name), place / f"of-{name}" / name)
        packages.append(ModelPackage(name, (place / f"of-{name}",)))
    whole = FoundPackages(tuple(packages), ())
    monkeypatch.setattr("softquery.zoo.zoo.find_packages", lambda: whole)
    [answer] = sq.load("tagger-en").predict(["They can fish."])
    assert answer.tags == ("PRON", "AUX", "VERB", "PUNCT")
    alone = FoundPackages(tuple(packages[:1]), ())
    monkeypatch.setattr("softquery.zoo.zoo.find_packages", lambda: alone)
    refused = softquery("tag", "They can fish.")
    head = place / "of-tagger-en" / "tagger-en"
    assert (refused.code, refused.err) == (2, f"softquery: {head}: elmo-en {MISSING}\n")


@pytest.fixture
def hostile(place, monkeypatch) -> Path:
    """A package with code, a model of ours by name, a card with codes for terminals, a link."""
    site = place / "site"
    package = site / "acme_models"
    ran = place / "ran"
    shutil.copytree(resolve("nli-en"), package / "nli-en")
    shutil.copytree(resolve("nli-en"), package / "own")
    (package / "own" / "README.md").write_text("# own\n\nclears \x1b[2J the\u3000screen\n")
    (package / "out").symlink_to(place / "data")
    (package / "__init__.py").write_text(f"open({str(ran)!r}, 'w')\nraise SystemExit(7)\n")
    for name, value in (("acme-models", "acme_models"), ("odd-models", "acme_models.own")):
        folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[softquery.models]\nx = {value}\n")
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(site)]))
    monkeypatch.setenv("PYTHONPATH", path)
    return ran


def test_the_code_of_a_package_is_never_run(hostile):
    pair = ("Two dogs run.", "Some animals run.")
    for words in (("models",), ("models", "own"), ("match", *pair, "--model", "own")):
        answer = finish(start(*words))
        assert answer.code == 0, answer.err
    assert not hostile.exists()


def test_softquery_wins_a_clash_and_says_so_in_one_line(hostile):
    answer = finish(start("match", "Two dogs run.", "Some run.", "--model", "nli-en", "--json"))
    assert answer.code == 0
    assert json.loads(answer.out)["label"]
    assert answer.err == (
        "softquery: nli-en is taken from softquery; acme-models 1.0 has a model of this name too, "
        "which is not used\n"
    )


def test_a_list_with_hostile_packages(hostile):
    answer = finish(start("models"))
    assert "\x1b" not in answer.out
    assert "clears \\x1b[2J the" in " ".join(answer.out.split())
    assert "softquery has a model of this name" in " ".join(answer.out.replace("│", "").split())
    assert answer.err == (
        "odd-models 1.0: its entry point must name a top-level package, got 'acme_models.own'\n"
    )
    card = finish(start("models", "own")).out
    assert card == "# own\n\nclears \\x1b[2J the\u3000screen\n\n"
    refused = finish(start("models", "out"))
    assert refused.code == 2
    assert refused.err.endswith("/out: is a link that leads out of its package\n")
