"""Nothing is fetched unasked: whatever reads, lists, searches or packs runs without a network."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytest.importorskip("usearch", reason="an index needs the extra [search]")

ALONE = ["unshare", "--map-root-user", "--net"]
CODE = r"""
import json, socket, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

asked = []

def refuse(*words, **more):
    asked.append(repr(words)[:200] + "".join(traceback.format_stack(limit=4)))
    raise OSError("the network is off")

for name in ("connect", "connect_ex", "sendto", "bind"):
    setattr(socket.socket, name, refuse)
for name in ("create_connection", "getaddrinfo", "gethostbyname"):
    setattr(socket, name, refuse)

from softquery.cli import main

ended = []
for words in json.loads(sys.argv[1]):
    out, err, code = StringIO(), StringIO(), 0
    sys.argv = ["softquery", *words]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    ended.append([words, code, err.getvalue()])

import softquery as sq
from softquery.zoo import entries

sq.load("nli-en").predict([("Two dogs run.", "Some animals run.")])
sq.Index.open("faq.sq").search("a password")
assert entries()
print(json.dumps([ended, asked]))
"""
COMMANDS = """\
models
models nli-en
models --json
recipes
match a b --model nli-en
rank a --candidates questions.txt
explain a b --model nli-en --output why.svg
index faq.csv --output faq.sq
search faq.sq password
evaluate nli-en --data pairs.tsv
models pack model --name faq --source
models add model --name faq
models add dist/softquery_model_faq-1.0-py3-none-any.whl --name two
match a b --model faq
models remove faq
"""
OF_THE_OTHER_PACKAGE = """\
tag hello
classify hello
read Who --context Anna
generate Hallo
embed --text hello
"""
WRONG = """\
match a b --model no-such-model
models add no-such-model
models remove no-such-model
tag hello --model acme/no-such-model
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    from softquery.zoo import resolve

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    (tmp_path / "faq.csv").write_text("question,answer\nHow do I change my password?,So.\n")
    (tmp_path / "questions.txt").write_text("How?\nWhy?\n")
    rows = ["sentence1\tsentence2\tlabel", "a man eats\tsomebody eats\tentailment"]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    shutil.copytree(resolve("nli-en"), tmp_path / "model")
    return tmp_path


def test_everything_but_the_hub_runs_without_a_network(place):
    works = COMMANDS + (OF_THE_OTHER_PACKAGE if find_spec("softquery_models") else "")
    lines = [line.split() for line in (works + WRONG).splitlines()]
    done = subprocess.run(
        [*without_network(), sys.executable, "-c", CODE, json.dumps(lines)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ended, asked = json.loads(done.stdout.splitlines()[-1])
    assert asked == []
    expected = [0] * works.count("\n") + [2] * WRONG.count("\n")
    assert [code for _, code, _ in ended] == expected, [each for each in ended if each[1]]


def without_network() -> list[str]:
    """What a command begins with to have no network, where the system allows it."""
    if shutil.which("unshare") is None or subprocess.run([*ALONE, "true"]).returncode:
        return []
    return ALONE
