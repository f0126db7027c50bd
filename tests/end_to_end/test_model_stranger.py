"""A stranger's package of models: used like any other, with its code left aside."""

import json
import os
import sys

import pytest
from running import finish, softquery, start

from forged_wheels import wheel_files, write_wheel
from softquery.zoo import resolve

PAIR = ("Two dogs run.", "Some animals run.")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of one's own, entered, without models in the user's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    return tmp_path


def test_code_in_a_wheel_is_not_run_and_not_taken_over(place):
    ran = place / "ran"
    evil = f"open({str(ran)!r}, 'w')\nraise SystemExit(7)\n".encode()
    files = wheel_files(resolve("nli-en"))
    scripts = {
        "acme_models/__init__.py": evil,
        "acme_models/hook.py": evil,
        "sitecustomize.py": evil,
    }
    write_wheel(place / "acme.whl", {**files, **scripts})
    for words in (
        ("models", "add", "acme.whl"),
        ("models",),
        ("models", "faq"),
        ("match", *PAIR, "--model", "faq"),
        ("models", "remove", "faq"),
    ):
        answer = finish(start(*words))
        assert answer.code == 0, answer.err
    assert not ran.exists()
    assert list(place.rglob("*.py")) == []


def test_a_good_package_is_listed_with_where_it_comes_from(place):
    write_wheel(place / "acme.whl", wheel_files(resolve("nli-en"), "faq", "shop"))
    told = softquery("models", "add", "acme.whl", "--json")
    assert [each["name"] for each in json.loads(told.out)] == ["faq", "shop"]
    listed = {each["name"]: each for each in json.loads(softquery("models", "--json").out)}
    assert (listed["faq"]["origin"], listed["faq"]["source"]) == ("local", "acme-models 1.0")
    shown = " ".join(softquery("models").out.replace("│", "").split())
    assert "local, in" in shown
    assert "from acme-models 1.0" in shown
    answer = softquery("match", *PAIR, "--model", "shop", "--json")
    assert json.loads(answer.out)["label"] == "entailment"


def test_an_installed_package_wins_over_ones_own_and_it_is_said(place, monkeypatch):
    assert softquery("models", "add", resolve("nli-en"), "--name", "faq").code == 0
    site = place / "site"
    for name, content in wheel_files(resolve("nli-en")).items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    answer = finish(start("match", *PAIR, "--model", "faq", "--json"))
    assert answer.code == 0
    assert answer.err == (
        f"softquery: faq is taken from acme-models 1.0; the folder {place}/home/models has a model "
        "of this name too, which is not used\n"
    )
    refused = softquery("models", "add", resolve("nli-en"), "--name", "FAQ")
    assert (refused.code, refused.err) == (
        2,
        "softquery: FAQ is the name of a model of acme-models 1.0, which would be taken in its "
        "place; choose another name with --name\n",
    )
    removed = softquery("models", "remove", "faq")
    assert removed.err == f"faq was removed: {place}/home/models/faq\n"
    refused = softquery("models", "remove", "faq")
    assert refused.err == (
        "softquery: faq belongs to the package acme-models 1.0: pip uninstall acme-models\n"
    )


@pytest.mark.parametrize(("answer", "is_left"), [("n", True), ("y", False)])
def test_removing_asks_on_a_terminal(place, answer, is_left):
    pty = pytest.importorskip("pty", reason="terminals of this system are another matter")
    assert softquery("models", "add", resolve("nli-en"), "--name", "faq").code == 0
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "softquery", "models", "remove", "faq"])
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(terminal, 1000)
    os.write(terminal, f"{answer}\n".encode())
    os.waitpid(child, 0)
    assert (place / "home" / "models" / "faq").exists() == is_left
