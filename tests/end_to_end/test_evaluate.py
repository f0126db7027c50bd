"""`softquery evaluate` and its Python door, on bundles that were trained a moment ago."""

import csv
import json
import re

import numpy as np
import pytest
from reading import metrics
from running import softquery
from tiny_pairs import COLUMNS, write_tsv

import softquery as sq
from softquery.errors import InputError
from softquery.files import read_rows

FLIPPED = {"same": "different", "different": "same"}
NUM_FLIPPED = 12


def evaluate(bundle, data, *words):
    answer = softquery("evaluate", bundle, "--data", data, *words, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


@pytest.fixture(scope="module")
def noisy(english_data, tmp_path_factory):
    """The dev set with every fifth label wrong, and columns of which the model knows nothing."""
    rows = [
        (
            FLIPPED[row.values["label"]] if place % 5 == 0 else row.values["label"],
            row.values["sentence1"],
            row.values["sentence2"],
            "web" if place % 3 else "book",
            f"id-{place}",
        )
        for place, row in enumerate(read_rows(english_data / "dev.tsv", columns=COLUMNS))
    ]
    header = ("label", "sentence1", "sentence2", "source", "id")
    return write_tsv(tmp_path_factory.mktemp("noisy") / "dev.tsv", rows, header)


@pytest.fixture(scope="module")
def wrong(english_run, noisy):
    """What the model gets wrong there by its own word: (confidence, place), the surest first."""
    rows = list(read_rows(noisy, columns=COLUMNS))
    pairs = [(row.values["sentence1"], row.values["sentence2"]) for row in rows]
    found = [
        (max(match.probabilities.values()), place)
        for place, (match, row) in enumerate(
            zip(sq.load(english_run[0]).predict(pairs), rows, strict=True)
        )
        if match.label != row.values["label"]
    ]
    return sorted(found, key=lambda pair: -pair[0])


# The contract


def test_the_dev_set_gives_the_figures_of_the_bundle(english_run, english_data, inference_run):
    for folder, data in ((english_run[0], english_data), inference_run):
        found, wanted = evaluate(folder, data / "dev.tsv"), metrics(folder)["dev"]
        assert found.keys() - {"ece"} == wanted.keys() >= {"accuracy", "n"}
        assert found["confusion"] == wanted["confusion"]
        for name in wanted.keys() - {"confusion"}:
            assert found[name] == pytest.approx(wanted[name], abs=1e-6), name


def test_wrong_labels_cost_accuracy(english_run, noisy, wrong):
    found = evaluate(english_run[0], noisy)
    assert len(wrong) >= NUM_FLIPPED - 1
    assert found["accuracy"] == pytest.approx(1 - len(wrong) / 60)
    low, high = found["accuracy_interval"]
    assert 0.5 < low < found["accuracy"] < high < 1
    assert sum(sum(row.values()) for row in found["confusion"].values()) == found["n"] == 60


def test_grades_have_their_own_metrics(graded_run):
    folder, data, _ = graded_run
    found = evaluate(folder, data / "dev.tsv", "--slice", "label")
    for name in ("spearman", "pearson", "mse"):
        assert found[name] == pytest.approx(metrics(folder)["dev"][name], abs=1e-6)
        low, high = found[f"{name}_interval"]
        assert low <= found[name] <= high
    assert sum(part["n"] for part in found["slices"]["label"]) == found["n"] == 40


def test_the_tables_for_people(english_run, noisy):
    answer = softquery("evaluate", english_run[0], "--data", noisy, "--slice", "source", "--order")
    assert answer.code == 0
    assert re.search(r"accuracy\W+0\.\d{4}\W+0\.\d{4} to 0\.\d{4}", answer.out)
    for title in ("confusion", "by source", r"match\(a, b\) against match\(b, a\)"):
        assert re.search(title, answer.out)
    assert re.search(r"web\W+40\W+0\.\d{4}", answer.out)


def test_columns_of_other_names(english_run, noisy, tmp_path):
    text = noisy.read_text(encoding="utf-8")
    header, _, body = text.partition("\n")
    renamed = header.replace("sentence", "q").replace("label", "gold")
    (tmp_path / "test.tsv").write_text(f"{renamed}\n{body}", encoding="utf-8")
    names = "sentence1=q1,sentence2=q2,label=gold"
    found = evaluate(english_run[0], tmp_path / "test.tsv", "--columns", names)
    assert found == evaluate(english_run[0], noisy)


def test_what_was_cut_is_counted(english_run, tmp_path):
    data = write_tsv(tmp_path / "long.tsv", [("A man " * 65, "Some man.", "same")], COLUMNS)
    assert evaluate(english_run[0], data)["sentences_cut"] == 1


# Slices


@pytest.mark.parametrize("by", ["length", "label", "source"])
def test_slices_cover_the_rows(english_run, noisy, by):
    found = evaluate(english_run[0], noisy, "--slice", by)
    parts = found["slices"][by]
    assert sum(part["n"] for part in parts) == 60
    mean = sum(part["n"] * part["accuracy"] for part in parts) / 60
    assert mean == pytest.approx(found["accuracy"])
    names = [part["slice"] for part in parts]
    if by == "label":
        assert names == ["different", "same"]
    elif by == "source":
        assert [(part["slice"], part["n"]) for part in parts] == [("web", 40), ("book", 20)]
    else:
        assert all(re.fullmatch(r"\d+-\d+|\d+\+", name) for name in names)


def test_several_slices_at_once(english_run, noisy):
    found = evaluate(english_run[0], noisy, "--slice", "length", "--slice", "source")
    assert list(found["slices"]) == ["length", "source"]


def test_a_slice_that_is_no_column_names_those_that_are(english_run, noisy):
    answer = softquery("evaluate", english_run[0], "--data", noisy, "--slice", "topic")
    assert answer.code == 2
    assert "cannot slice by 'topic'; expected one of length, sentence1" in answer.err
    assert "source" in answer.err


# Mistakes


def read_mistakes(path):
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [{name: str(value) for name, value in json.loads(line).items()} for line in lines]
    with open(path, encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return list(csv.DictReader(file))
        header, *rows = (line.rstrip("\n").split("\t") for line in file)
        return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
def test_the_file_of_mistakes(english_run, noisy, wrong, tmp_path, form):
    path = tmp_path / f"mistakes.{form}"
    evaluate(english_run[0], noisy, "--errors", path)
    found = read_mistakes(path)
    assert [row["id"] for row in found] == [f"id-{place}" for _, place in wrong]
    lines = noisy.read_text(encoding="utf-8").splitlines()
    for row, (confidence, place) in zip(found, wrong, strict=True):
        assert int(row["row"]) == place + 2  # as an editor counts, the header being line 1
        values = [row[name] for name in ("label", "sentence1", "sentence2", "source", "id")]
        assert values == lines[place + 1].split("\t")
        assert row["predicted"] == FLIPPED[row["label"]]
        assert float(row["confidence"]) == pytest.approx(confidence, abs=1e-4)
    assert list(tmp_path.iterdir()) == [path]


def test_mistakes_in_grades_are_the_farthest_first(graded_run, tmp_path):
    folder, data, _ = graded_run
    evaluate(folder, data / "dev.tsv", "--errors", tmp_path / "far.jsonl")
    found = read_mistakes(tmp_path / "far.jsonl")
    off = [abs(float(row["predicted"]) - float(row["label"])) / 5 for row in found]
    assert len(off) == 40
    assert off == pytest.approx(sorted(off, reverse=True), abs=1e-3)
    assert [float(row["confidence"]) for row in found] == pytest.approx(off, abs=1e-3)


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
def test_no_mistakes_leave_a_file_without_rows(english_run, noisy, wrong, tmp_path, form):
    lines = noisy.read_text(encoding="utf-8").splitlines()
    places = {place for _, place in wrong}
    right = [line for place, line in enumerate(lines[1:]) if place not in places]
    (tmp_path / "right.tsv").write_text("\n".join([lines[0], *right]) + "\n", encoding="utf-8")
    path = tmp_path / f"none.{form}"
    assert evaluate(english_run[0], tmp_path / "right.tsv", "--errors", path)["accuracy"] == 1
    head = [] if form == "jsonl" else [[*COLUMNS, "predicted", "confidence", "row"]]
    mark = "," if form == "csv" else "\t"
    assert [line.split(mark) for line in path.read_text().splitlines()] == head


def test_rows_with_different_further_names(english_run, tmp_path):
    """Objects of a JSONL file need not be alike."""
    pair = {"sentence1": "A man eats at home.", "sentence2": "Some man eats at home."}
    further = {"same": {"id": 1}, "different": {"topic": "food"}}
    records = [{**pair, "label": label, **more} for label, more in further.items()]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "test.jsonl").write_text(lines, encoding="utf-8")
    for form in ("csv", "tsv"):
        path = tmp_path / f"mistakes.{form}"
        evaluate(english_run[0], tmp_path / "test.jsonl", "--errors", path)
        assert {(row["label"], row["topic"]) for row in read_mistakes(path)} == {
            ("different", "food")
        }


# Order


def test_order_compares_both_ways(english_run, noisy):
    found = evaluate(english_run[0], noisy, "--order")["order"]
    matcher = sq.load(english_run[0])
    pairs = [
        (row.values["sentence1"], row.values["sentence2"])
        for row in read_rows(noisy, columns=COLUMNS)
    ]
    there, back = (matcher.probabilities(each) for each in (pairs, [pair[::-1] for pair in pairs]))
    assert found["n"] == 60
    assert found["mean_difference"] == pytest.approx(np.abs(there - back).mean(), abs=1e-6)
    assert found["mean_difference"] > 0
    assert found["same_label"] == pytest.approx((there.argmax(1) == back.argmax(1)).mean())


# The Python door


def test_predictions_are_plain_and_sum_to_one(english_run, inference_run):
    pairs = [("A man eats at home.", "Some man eats."), ("", "zyx"), ("A man", "No man" * 90)]
    for folder, labels in (
        (english_run[0], {"different", "same"}),
        (inference_run[0], {"entailment", "neutral", "contradiction"}),
    ):
        for match in sq.load(folder).predict(pairs):
            assert set(match.probabilities) == labels
            assert all(type(value) is float for value in match.probabilities.values())
            assert sum(match.probabilities.values()) == pytest.approx(1, abs=1e-12)
            assert match.label == max(match.probabilities, key=match.probabilities.__getitem__)
            assert type(match.score) is float
            chosen = "same" if len(labels) == 2 else match.label
            assert match.score == match.probabilities[chosen]


def test_an_answer_does_not_depend_on_its_company(english_run, noisy):
    matcher = sq.load(english_run[0])
    pairs = [
        (row.values["sentence1"], row.values["sentence2"])
        for row in read_rows(noisy, columns=COLUMNS)
    ]
    together = [match.score for match in matcher.predict(pairs)]
    alone = [matcher.predict([pair])[0].score for pair in pairs[:5]]
    assert alone == pytest.approx(together[:5], abs=1e-6)
    assert matcher.predict([]) == []


def test_evaluate_takes_rows_of_any_origin(english_run):
    first = {"sentence1": "A man eats at home.", "label": "same"}
    rows = [
        {**first, "sentence2": "Some man eats at home."},
        {**first, "sentence2": "No man eats at home."},
    ]
    matcher = sq.load(english_run[0])
    evaluation = sq.evaluate(matcher, list(read_rows(rows, columns=COLUMNS)))
    assert evaluation.report()["accuracy"] == 0.5
    (mistake,) = evaluation.mistakes()
    assert (mistake.row.number, mistake.predicted) == (2, "different")
    assert evaluation.slices("label") == [{"slice": "same", "n": 2, "accuracy": 0.5}]


def test_a_label_that_the_model_does_not_know_is_named_with_its_row(english_run):
    rows = [{"sentence1": "a", "sentence2": "b", "label": "maybe"}]
    labelled = list(read_rows(rows, columns=COLUMNS))
    with pytest.raises(InputError, match=r"the data, row 1: .*'maybe'.*different"):
        sq.evaluate(sq.load(english_run[0]), labelled)
