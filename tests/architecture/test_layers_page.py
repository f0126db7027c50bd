"""`docs/layers.md` walks three commands file by file: they are run, and the lists compared."""

import re
from itertools import count

import pytest
from repository import PACKAGE, ROOT
from traced_files import post, run_command, traced_files

PAGE = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
LOOP = "training/steps.py"
"""The step in whose every call one batch is made and learnt from."""
MOST_ON_THE_ROAD = 7
MOST_OTHERS = 48
SMALL = ("model.hidden_size=4", "model.embedding_size=4", "data.batch_size=8",
         "training.max_steps=3")  # fmt: skip


def listed(mark: str) -> list[str]:
    """The files of the list that follows a mark in the page."""
    part = re.split(r"<!-- \w+ -->", PAGE.split(f"<!-- {mark} -->\n")[1])[0].split("\n\n")[0]
    return re.findall(r"^(?:-|\d+\.) `([\w/]+\.py)`", part, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    pytest.importorskip("torch", reason="training needs the extra [train]")
    folder = tmp_path_factory.mktemp("esim")
    lines = [
        f"a man eats {number}\t{'someone' if number % 2 else 'nobody'} eats\t{number % 2}"
        for number in range(60)
    ]
    for split, some in (("train", lines[:48]), ("dev", lines[48:])):
        text = "\n".join(["sentence1\tsentence2\tlabel", *some])
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    numbers = count()
    settings = [word for setting in SMALL for word in ("--set", setting)]

    def train() -> None:
        output = folder / f"model-{next(numbers)}"
        run_command("train", "esim", "--data", folder, "--output", output, *settings)

    return traced_files(train)


def test_the_road_of_a_batch_is_short_and_named_first(trained):
    assert trained.num_spans == 3
    assert trained.in_every_span - {LOOP} == set(listed("road"))
    assert len(listed("road")) <= MOST_ON_THE_ROAD


def test_all_else_that_trains_is_listed_and_little(trained):
    others = trained.ran - set(listed("road"))
    assert sorted(listed("also")) == sorted(others)
    assert len(others) <= MOST_OTHERS


def test_the_walk_of_a_match():
    words = ("match", "A man is eating.", "Someone eats.", "--model", "nli-en")
    assert sorted(listed("match")) == sorted(traced_files(lambda: run_command(*words)).ran)


def test_the_walk_of_a_rerank():
    pytest.importorskip("fastapi", reason="the server needs the extra [serve]")
    found = []
    body = {"query": "How do I reset my password?", "texts": ["opening hours", "a new password"]}
    traced = traced_files(lambda: found.append(post("/rerank", body, models=("match-en",))))
    assert sorted(listed("rerank")) == sorted(traced.ran)
    assert [each["index"] for each in found[-1]] == [1, 0]


@pytest.mark.parametrize("mark", ["road", "also", "match", "rerank"])
def test_what_is_listed_is_there(mark):
    assert listed(mark)
    assert [file for file in listed(mark) if not (PACKAGE / file).is_file()] == []
