"""Bundles after one step: each stands for one way of one task, and is made once."""

import argparse
import json
import lzma
from pathlib import Path

import pytest

SCRIPT = "compare.timing_bundles"


@pytest.fixture
def options(tmp_path):
    return argparse.Namespace(
        sst2=Path("sst2"), snli=Path("snli"), conll=Path("conll"), squad=Path("squad"),
        vectors=[Path("a.bin"), Path("b.bin")], reader_vectors=[Path("b.bin")], characters=[],
        elmo="elmo-en", larger="larger", bert="bert", minilm="minilm", seeds=1, jobs=1,
        output=tmp_path,
    )  # fmt: skip


def test_each_way_of_each_task_has_its_run(script, options):
    runs = script.compared(options)
    assert len(runs) == len({run.name for run in runs.values()}) == 20
    assert all(run.data == Path(task) for (task, _), run in runs.items())
    assert {run.seed for run in runs.values()} == {1}
    run = runs["sst2", "ELMo"]
    assert run.recipe == "attention-bilstm-elmo"
    assert run.settings == ("vectors=a.bin,b.bin", "elmo.bundle=elmo-en")
    run = runs["snli", "ELMo"]
    assert (run.recipe, run.vectors) == ("esim-elmo", (Path("a.bin"), Path("b.bin")))
    assert run.settings == ("elmo.bundle=elmo-en", "training.seed=1")
    assert runs["conll", "ELMo"].settings == ("elmo.bundle=larger",)
    run = runs["squad", "ELMo"]
    assert (run.recipe, run.vectors) == ("reader-elmo", (Path("b.bin"),))
    assert run.settings == ("elmo.bundle=elmo-en", "vocabulary.frozen=true")
    run = runs["squad", "BERT, random weights"]
    assert (run.name, run.recipe, run.vectors) == (
        "squad-bert-random-weights", "bert-read", ()
    )  # fmt: skip
    assert {"bert.bundle=bert", "bert.weights=random"} < set(run.settings)
    assert "bert.bundle=minilm" in runs["conll", "MiniLM"].settings


def test_of_dev_the_beginning_is_taken(script, tmp_path):
    rows = "".join(f"{number}\n" for number in range(1000))
    (tmp_path / "train.tsv").write_text(rows)
    with lzma.open(tmp_path / "dev.tsv.xz", "wt") as file:
        file.write(rows)
    short = script.shortened(tmp_path, tmp_path / "short")
    assert (short / "train.tsv").read_text() == rows
    assert (short / "dev.tsv").read_text() == rows[: rows.index("200\n")]
    asked = tmp_path / "asked"
    asked.mkdir()
    articles = [{"title": title, "paragraphs": [1, 2, 3]} for title in "ab"]
    for split in ("train", "dev"):
        (asked / f"{split}.json").write_text(json.dumps({"data": articles}))
    (asked / "dev_more.json").write_text("")
    short = script.shortened(asked, asked / "short")
    assert json.loads((short / "train.json").read_text()) == {"data": articles}
    kept = json.loads((short / "dev.json").read_text())
    assert kept == {"data": [{"title": "a", "paragraphs": [1, 2]}]}


def test_of_a_text_a_few_lines_are_taken(script, tmp_path):
    for name in ("train-01.txt", "train-00.txt", "valid.txt"):
        (tmp_path / name).write_text(f"{name}\n" * 5000)
    made = script.little_text(tmp_path, tmp_path / "little")
    lines = [(made / f"{split}.txt").read_text().splitlines() for split in ("train", "valid")]
    assert [set(each) for each in lines] == [{"train-00.txt"}, {"valid.txt"}]
    assert [len(each) for each in lines] == [4000, 200]


def test_what_is_there_is_not_made_again(script, options, monkeypatch):
    made = []

    def train_all(runs, *, work, more, **others):
        made.extend(run.name for run in runs)
        assert "training.max_steps=1" in more
        for run in runs:
            if run.name != "squad-elmo":
                run.bundle(work).mkdir()

    monkeypatch.setattr(script, "train_all", train_all)
    runs = script.compared(options)
    done, failing = runs["sst2", "ELMo"], runs["squad", "ELMo"]
    done.bundle(options.output).mkdir()
    script.make([done, runs["snli", "ELMo"]], options)
    assert made == ["snli-elmo"]
    with pytest.raises(SystemExit, match="not made: squad-elmo"):
        script.make([done, failing], options)
