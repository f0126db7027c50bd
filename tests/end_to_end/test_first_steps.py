"""The first minutes: `demo`, `doctor`, `--quiet`, completion in a shell."""

import csv
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from running import softquery

from softquery.demo import SAMPLES, TOUR, what_is_missing, write_samples
from softquery.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_samples_are_written_once(tmp_path):
    answer = softquery("demo", "--samples", "--output", tmp_path / "new")
    assert answer.code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(SAMPLES)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "new").iterdir()}
    assert softquery("demo", "--samples", "--output", tmp_path / "new", "--json").code == 0
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_a_file_of_one_s_own_is_never_replaced(tmp_path):
    (tmp_path / "queries.tsv").write_text("mine")
    with pytest.raises(InputError, match=r"queries\.tsv: is there already and is not the sample"):
        write_samples(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["queries.tsv"]
    answer = softquery("demo", "--output", tmp_path)
    assert answer.code == 2
    assert answer.err.startswith("softquery: ")
    assert (tmp_path / "queries.tsv").read_text() == "mine"


@pytest.mark.parametrize(("language", "name"), [("en", "faq.csv"), ("zh", "faq-zh.csv")])
def test_the_sample_faq_is_the_example_s(tmp_path, language, name):
    write_samples(tmp_path)
    with open(EXAMPLES / "shop_faq.csv", encoding="utf-8", newline="") as file:
        rows = [
            (row["id"], row[f"question_{language}"], row[f"answer_{language}"])
            for row in csv.DictReader(file)
        ]
    with open(tmp_path / name, encoding="utf-8", newline="") as file:
        sample = [(row["id"], row["question"], row["answer"]) for row in csv.DictReader(file)]
    assert sample == rows


def test_the_samples_are_the_examples(tmp_path):
    write_samples(tmp_path)
    for name, example in (
        ("queries.tsv", "shop_queries_en.tsv"),
        ("queries-zh.tsv", "shop_queries_zh.tsv"),
        ("questions.txt", "faq.txt"),
    ):
        assert (tmp_path / name).read_bytes() == (EXAMPLES / example).read_bytes()


@pytest.mark.skipif(
    any(map(what_is_missing, TOUR)), reason="the whole tour needs [search] and softquery-models"
)
@pytest.mark.slow
def test_the_whole_tour_over_what_an_earlier_one_left(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "alignment.svg").write_text("old")
    (tmp_path / "faq.sq").mkdir()
    (tmp_path / "faq.sq" / "old").write_text("old")
    answer = softquery("demo", "--output", tmp_path, "--json")
    assert answer.code == 0, answer.err
    ran = json.loads(answer.out)
    assert len(ran) == len(TOUR)
    assert all(each["seconds"] > 0 and each["missing"] is None for each in ran)
    assert (tmp_path / "faq.sq" / "manifest.json").is_file()
    assert not (tmp_path / "faq.sq" / "old").exists()
    assert "<svg" in (tmp_path / "alignment.svg").read_text()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_is_missing_is_passed_over_with_its_command(monkeypatch):
    monkeypatch.setattr("softquery.demo.tour.find_spec", lambda name: None)
    monkeypatch.setattr("softquery.demo.tour.absent", lambda: ["read-en"])
    needs = {what_is_missing(stop) for stop in TOUR}
    assert needs == {"", 'pip install "softquery[search]"', "pip install softquery-models"}


def test_doctor(capsys):
    answer = softquery("doctor", "--no-speed")
    assert answer.code == 0
    assert "onnxruntime" in answer.out
    assert "cores" in answer.out
    assert answer.err == ""


def test_doctor_measures_and_answers_in_json():
    answer = softquery("doctor", "--json")
    found = json.loads(answer.out)
    assert answer.code == 0
    assert found["speed"]["pair"] > 0
    assert found["speed"]["rank"] > found["speed"]["pair"]
    assert found["installation"]["packages"]["numpy"]
    assert "measuring" in answer.err


@pytest.mark.skipif(
    not all(map(find_spec, ("usearch", "bm25s"))), reason="an index needs the extra [search]"
)
def test_quiet_leaves_answers_alone(tmp_path):
    (tmp_path / "faq.csv").write_text("question,answer\nHow do I pay?,By card.\n")
    quiet = softquery("--quiet", "index", tmp_path / "faq.csv", "--output", tmp_path / "a.sq")
    loud = softquery("index", tmp_path / "faq.csv", "--output", tmp_path / "b.sq")
    assert (quiet.code, quiet.err) == (0, "")
    assert "1 added" in loud.err
    assert quiet.out.replace("a.sq", "b.sq") == loud.out


def test_quiet_still_says_what_went_wrong(tmp_path):
    answer = softquery("-q", "match", "--pairs", tmp_path / "none.tsv")
    assert answer.code == 2
    assert "none.tsv" in answer.err
    misplaced = softquery("match", "a", "b", "--quiet")
    assert misplaced.code == 2
    assert "--quiet goes before the verb" in misplaced.err


def complete(*words: str) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-c", "from softquery.cli import main; main()"],
        env={
            "_SOFTQUERY_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("softquery", *words)),
            "COMP_CWORD": str(len(words)),
            "PYTHONPATH": ":".join(sys.path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.split()


def test_a_shell_completes_verbs_and_models():
    assert complete("ra") == ["rank"]
    assert complete("match", "--model", "embed-") == ["embed-en", "embed-zh"]
