"""What labels are called in front of people."""

import json
import shutil

import pytest

import softquery
from softquery.answers.label_names import label_names
from softquery.answers.tag_schemes import label_of
from softquery.zoo import entries, resolve


def labels_of(task):
    return [each for each in dict.fromkeys(map(label_of, task.get("labels", ()))) if each]


def test_every_label_of_a_shipped_model_has_a_name_in_both_languages():
    tasks = {
        entry.name: json.loads((resolve(entry.name) / "config.json").read_text("utf-8"))["task"]
        for entry in entries()
    }
    labelled = {
        name: task for name, task in tasks.items() if task["name"] != "tag" and "labels" in task
    }
    labelled |= {name: task for name, task in tasks.items() if task["name"] == "tag"}
    assert {"match-en", "nli-en"} <= set(labelled)
    for name, task in labelled.items():
        labels = task["labels"] if task["name"] != "tag" else labels_of(task) or task["labels"]
        found = label_names(task, labels)
        assert {*found} == {*labels}, name
        assert all({*names} == {"en", "zh"} for names in found.values()), name


def test_numbers_are_same_or_not_only_where_there_is_nothing_else():
    assert label_names({"name": "match"}, ["0", "1", "2"]) == {}
    assert label_names({"name": "classify"}, ["0", "1"]) == {}


@pytest.mark.parametrize(
    "given",
    [None, [], "x", {"a": "x"}, {"a": {"en": 3}}, {"a": {"en": " "}}, {"a": {"en": "x" * 81}},
     {"z": {"en": "x"}}, {"a": {"fr": "x"}}],
)  # fmt: skip
def test_what_is_no_name_is_ignored(given):
    assert label_names({"name": "classify", "label_names": given}, ["a", "b"]) == {}


def test_a_bundle_with_names_of_its_own_opens_and_answers_with_its_labels(tmp_path):
    copy = shutil.copytree(resolve("match-en"), tmp_path / "named")
    config = json.loads((copy / "config.json").read_text("utf-8"))
    own = {"1": {"en": "the same question", "zh": "同一个问题"}}
    config["task"]["label_names"] = own
    (copy / "config.json").write_text(json.dumps(config), "utf-8")
    matcher = softquery.load(copy)
    assert matcher.predict([("a dog", "a dog")])[0].label == "1"
    found = label_names(matcher.bundle.config.task, matcher.labels)
    assert found["1"] == own["1"]
    assert found["0"]["en"] == "different meaning"
