"""`softquery match` and `rank`: one pair, many, killed and gone on, and all of it without torch."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from exported_model import exported_model
from running import finish, softquery, start
from tiny_pairs import english, graded, write_tsv

from softquery.files import read_rows
from softquery.runtime import load
from softquery.runtime.match.model import CHUNK

BLOCKED = ("torch", "jaxtyping", "lightning_fabric", "onnx", "matplotlib", "pyarrow", "sklearn")
SIDES = ("sentence1", "sentence2")
WITHOUT = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1] / 'architecture')!r})\n"
    "from import_without import Refusal\n"
    f"sys.meta_path.insert(0, Refusal({BLOCKED!r}))\n"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return exported_model(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A file of a few thousand pairs."""
    rows = [pair[:2] for seed in range(5) for pair in english(1200, seed=seed)]
    return write_tsv(
        tmp_path_factory.mktemp("many") / "pairs.tsv", rows, ("sentence1", "sentence2")
    )


def bulk(model, pairs, output, *words):
    return ("match", "--pairs", pairs, "--output", output, "--model", model, "--threads", 1, *words)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_one_pair(place):
    words = ("match", "A man eats at home.", "Some man eats at home.", "--model", place / "int8")
    answer = softquery(*words, "--json")
    record = json.loads(answer.out)
    (wanted,) = load(place / "int8").predict([(words[1], words[2])])
    assert (answer.code, answer.err) == (0, "")
    assert record == {
        "sentence1": words[1],
        "sentence2": words[2],
        "label": wanted.label,
        "score": pytest.approx(wanted.score),
        "probabilities": pytest.approx(wanted.probabilities, abs=1e-6),
    }
    shown = softquery(*words)
    assert wanted.label in shown.out.splitlines()[0]
    assert "probability" in shown.out


def test_a_pair_that_is_cut_is_told(place):
    answer = softquery("match", "man " * 500, "man", "--model", place / "int8")
    assert answer.err == "1 sentence cut to the model's 128 tokens\n"


def test_many_pairs_are_those_of_predict(place, many, tmp_path):
    answer = softquery(*bulk(place / "int8", many, tmp_path / "out.jsonl"), "--json")
    assert json.loads(answer.out)["num_rows"] == 6000
    assert answer.err == f"6,000 pairs answered: {tmp_path / 'out.jsonl'}\n"
    pairs = [
        (row.values["sentence1"], row.values["sentence2"]) for row in read_rows(many, columns=SIDES)
    ]
    records = list(map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines()))
    answers = load(place / "int8", threads=1).predict(pairs)
    assert [(r["sentence1"], r["sentence2"]) for r in records] == pairs
    assert [r["label"] for r in records] == [each.label for each in answers]
    assert [r["score"] for r in records] == [round(each.score, 6) for each in answers]
    assert names(tmp_path) == ["out.jsonl"]


def test_standard_output_streams_jsonl(place, many, tmp_path):
    softquery(*bulk(place / "int8", many, tmp_path / "out.jsonl"))
    answer = softquery("match", "--pairs", many, "--model", place / "int8", "--threads", 1)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (tmp_path / "out.jsonl").read_text()


def test_a_reader_who_leaves_early_is_no_fault(place, many):
    process = start("match", "--pairs", many, "--model", place / "int8")
    assert json.loads(process.stdout.readline())["sentence1"]
    process.stdout.close()
    process.wait(timeout=60)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.parametrize("num_kills", [5, pytest.param(20, marks=pytest.mark.endurance)])
def test_killed_and_gone_on_from(num_kills, place, many, tmp_path):
    """kill -9 at seeded moments: in the end every byte is that of an uninterrupted run."""
    assert softquery(*bulk(place / "int8", many, tmp_path / "whole.jsonl")).code == 0
    whole = (tmp_path / "whole.jsonl").read_bytes()
    output, partial = tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    draw = random.Random(7)
    # The first comes while the process is still starting, the others while it writes.
    moments = [0, *sorted(draw.randrange(len(whole) * 9 // 10) for _ in range(num_kills - 1))]
    unfinished = 0
    for moment in moments:
        process = start(*bulk(place / "int8", many, output))
        time.sleep(draw.random() * 0.2)
        while process.poll() is None and moment and size(partial) <= moment:
            time.sleep(0.001)
        process.kill()
        finish(process)
        assert not output.exists() or output.read_bytes() == whole
        unfinished += 0 < size(partial) < len(whole)
    assert unfinished >= num_kills // 2
    resumed = softquery(*bulk(place / "int8", many, output))
    assert resumed.code == 0 or "already exists" in resumed.err
    assert output.read_bytes() == whole
    assert names(tmp_path) == ["out.jsonl", "whole.jsonl"]


def size(path):
    return path.stat().st_size if path.exists() else 0


def test_a_bad_row_stops_and_is_gone_on_from_once_repaired(place, tmp_path):
    rows = [pair[:2] for pair in english(600, seed=3)]
    columns = ("sentence1", "sentence2")
    whole = write_tsv(tmp_path / "whole.tsv", rows, columns)
    assert softquery(*bulk(place / "int8", whole, tmp_path / "whole.jsonl")).code == 0
    broken = [*rows]
    broken[400] = ("only one column",)
    pairs, output = write_tsv(tmp_path / "pairs.tsv", broken, columns), tmp_path / "out.jsonl"
    for _ in range(2):
        answer = softquery(*bulk(place / "int8", pairs, output))
        assert answer.code == 2
        assert answer.err.startswith(f"softquery: {pairs}, row 402: expected 2 columns")
        assert (tmp_path / "out.jsonl.partial").read_bytes().count(b"\n") == CHUNK
    write_tsv(pairs, rows, columns)  # another size, another time
    answer = softquery(*bulk(place / "int8", pairs, output))
    assert answer.err == f"600 pairs answered ({CHUNK} of them before): {output}\n"
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_skipping_may_follow_stopping(place, tmp_path):
    """Bad rows are numbered right also in a run that goes on from another."""
    rows = [pair[:2] for pair in english(600, seed=3)]
    sound = [row for number, row in enumerate(rows) if number not in (300, 301, 599)]
    whole = write_tsv(tmp_path / "whole.tsv", sound, SIDES)
    assert softquery(*bulk(place / "int8", whole, tmp_path / "whole.jsonl")).code == 0
    rows[300], rows[301], rows[599] = ("one",), ("", "two"), ("a", "b", "c")
    pairs = write_tsv(tmp_path / "pairs.tsv", rows, SIDES)
    output = tmp_path / "out.jsonl"
    assert softquery(*bulk(place / "int8", pairs, output)).code == 2
    answer = softquery(*bulk(place / "int8", pairs, output, "--on-error", "skip", "--json"))
    assert json.loads(answer.out) == {
        "output": str(output),
        "num_rows": 597,
        "num_resumed": CHUNK,
        "num_cut": 0,
        "num_skipped": 3,
    }
    assert f"3 bad rows skipped: {output}.errors.tsv" in answer.err
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    table = [
        line.split("\t") for line in (tmp_path / "out.jsonl.errors.tsv").read_text().splitlines()
    ]
    assert table[0] == ["row", "reason"]
    assert [row for row, _ in table[1:]] == ["302", "303", "601"]
    assert table[2][1] == "sentence1 is empty"


def test_skipped_rows_are_told_once_also_after_a_kill(place, many, tmp_path):
    lines = many.read_text().splitlines()
    for number in (5, 1000, 3000, 5999):
        lines[number] = "one column"
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join(lines) + "\n")
    output = tmp_path / "out.jsonl"
    process = start(*bulk(place / "int8", pairs, output, "--on-error", "skip"))
    while process.poll() is None and size(tmp_path / "out.jsonl.partial") < 200_000:
        time.sleep(0.001)
    process.kill()
    finish(process)
    assert not output.exists()
    assert softquery(*bulk(place / "int8", pairs, output, "--on-error", "skip")).code == 0
    noted = (tmp_path / "out.jsonl.errors.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in noted] == ["row", "6", "1001", "3001", "6000"]
    assert output.read_bytes().count(b"\n") == 5996
    assert names(tmp_path) == ["out.jsonl", "out.jsonl.errors.tsv", "pairs.tsv"]


def test_no_bad_rows_leave_no_list_of_them(place, tmp_path):
    pairs = write_tsv(
        tmp_path / "pairs.tsv", [pair[:2] for pair in english(5)], ("sentence1", "sentence2")
    )
    (tmp_path / "out.jsonl.errors.tsv").write_text("of an older run\n")
    softquery(*bulk(place / "int8", pairs, tmp_path / "out.jsonl", "--on-error", "skip"))
    assert names(tmp_path) == ["out.jsonl", "pairs.tsv"]


def test_a_refused_output_leaves_the_list_of_bad_rows(place, tmp_path):
    pairs = write_tsv(tmp_path / "pairs.tsv", [("a", "b")], SIDES)
    for name in ("out.jsonl", "out.jsonl.errors.tsv"):
        (tmp_path / name).write_text("of an older run\n")
    answer = softquery(*bulk(place / "int8", pairs, tmp_path / "out.jsonl", "--on-error", "skip"))
    assert answer.code == 2
    assert (tmp_path / "out.jsonl.errors.tsv").read_text() == "of an older run\n"


def test_rank(place, tmp_path):
    texts = [pair[1] for pair in english(40)]
    (tmp_path / "docs.txt").write_text("\n".join(texts) + "\n")
    words = ("rank", "A man eats at home.", "--candidates", tmp_path / "docs.txt")
    answer = softquery(*words, "--model", place / "int8", "--top-k", 3, "--json")
    wanted = load(place / "int8").rank("A man eats at home.", texts, top_k=3)
    assert json.loads(answer.out) == wanted
    shown = softquery(*words, "--model", place / "int8", "--top", 3)
    assert shown.out.count("Some") == 3
    other = softquery(*words, "--model", place / "int8", "--label", "different", "--json")
    assert [hit["corpus_id"] for hit in json.loads(other.out)] != [
        hit["corpus_id"] for hit in wanted
    ]
    write_tsv(tmp_path / "docs.tsv", [(str(n), t) for n, t in enumerate(texts)], ("id", "question"))
    renamed = softquery(
        "rank", "A man eats at home.", "--candidates", tmp_path / "docs.tsv",
        "--columns", "text=question", "--model", place / "int8", "--top", 3, "--json",
    )  # fmt: skip
    assert json.loads(renamed.out) == wanted


def test_everything_answers_without_torch(place, tmp_path):
    """In a process where torch and its like cannot be imported."""
    dev = place / "data" / "dev.tsv"
    code = (
        "import contextlib, io, json\n"
        "import softquery\n"
        "from softquery.cli import main\n"
        "model, dev, folder = sys.argv[1:4]\n"
        "def verb(*words):\n"
        "    sys.argv = ['softquery', *words]\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out):\n"
        "        try:\n"
        "            main()\n"
        "        except SystemExit as end:\n"
        "            assert not end.code, (words, end.code)\n"
        "    return out.getvalue()\n"
        "matcher = softquery.load(model)\n"
        "label = matcher.predict([('a man eats', 'some man eats')])[0].label\n"
        "best = matcher.rank('a man eats', ['a cook sings', 'some man eats'])[0]['corpus_id']\n"
        "words = ('a man eats', 'some man eats', '--model', model, '--json')\n"
        "pair = json.loads(verb('match', *words))\n"
        "verb('match', '--pairs', dev, '--output', folder + '/o.jsonl', '--model', model)\n"
        "open(folder + '/d.txt', 'w').write('a cook sings\\nsome man eats\\n')\n"
        "hits = json.loads(verb('rank', 'a man eats', '--candidates', folder + '/d.txt',\n"
        "                       '--model', model, '--json'))\n"
        "report = json.loads(verb('evaluate', model, '--data', dev, '--slice', 'length',\n"
        "                         '--order', '--errors', folder + '/e.tsv', '--json'))\n"
        "shown = verb('models', model)\n"
        "loaded = sorted(set(sys.modules) & set(BLOCKED))\n"
        "print(json.dumps([label, best, pair['label'], hits[0]['corpus_id'], report['accuracy'],\n"
        "                  shown[:3], loaded]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT}BLOCKED = {BLOCKED!r}\n{code}",
         str(place / "int8"), str(dev), str(tmp_path)],
        capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    accuracy = json.loads((place / "int8" / "metrics.json").read_text())["export"]["gate"]["int8"]
    label, best, pair, hit, measured, _, loaded = json.loads(done.stdout.splitlines()[-1])
    assert (pair, hit, loaded) == (label, best, [])
    assert measured == pytest.approx(accuracy, abs=1e-9)
    assert (tmp_path / "o.jsonl").read_bytes().count(b"\n") == 100


@pytest.mark.parametrize("blocked", ["torch", "jaxtyping"])
def test_what_was_not_exported_names_the_extra(place, blocked):
    code = WITHOUT.replace(repr(BLOCKED), repr((blocked,))) + "from softquery.cli import main"
    answer = finish(start("match", "a", "b", "--model", place / "model", code=code))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "softquery: running a model on torch needs an optional part: "
        'pip install "softquery[train]"\n'
    )


@pytest.mark.parametrize("blocked", ["torch", "onnx"])
def test_export_names_the_extra(place, blocked):
    code = WITHOUT.replace(repr(BLOCKED), repr((blocked,))) + "from softquery.cli import main"
    answer = finish(start("export", place / "model", code=code))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        'softquery: export needs an optional part: pip install "softquery[train]"\n'
    )


def test_grades_are_shown_as_grades(tmp_path_factory, tmp_path):
    from small_bundles import exported, make_bundle

    folder = tmp_path_factory.mktemp("grades")
    model = exported(make_bundle(folder / "plain", outputs=1, size=8), folder / "model").bundle
    answer = softquery("match", "w1 w2", "w3", "--model", model)
    score = load(model).predict([("w1 w2", "w3")])[0].score
    assert answer.out.splitlines()[0] == f"grade {score:.2f}"
    pairs = write_tsv(tmp_path / "pairs.tsv", graded(20))
    softquery(*bulk(model, pairs, tmp_path / "out.jsonl"))
    record = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert (record["label"], record["probabilities"]) == (None, {})
    assert 0 <= record["score"] <= 5
