"""`softquery calibrate`: fitted once, written into the bundle, obeyed by every verb after it."""

import json
import shutil
import sys

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from exported_model import exported_model
from running import softquery
from tiny_pairs import english, graded, inference, write_tsv


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return exported_model(tmp_path_factory.getbasetemp())


@pytest.fixture
def model(trained, tmp_path):
    """An exported bundle of one's own, labels `different` and `same`."""
    return shutil.copytree(trained / "float32", tmp_path / "model")


@pytest.fixture
def data(tmp_path):
    """Rows with every fifth label turned round, so that a sure model is too sure."""
    turned = {"same": "different", "different": "same"}
    pairs = [
        (first, second, turned[label] if place % 5 == 0 else label)
        for place, (first, second, label) in enumerate(english(200, seed=7))
    ]
    return write_tsv(tmp_path / "dev.tsv", pairs)


def answered(*words):
    answer = softquery(*words, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def test_what_is_printed_is_what_is_saved(model, data):
    before = sorted(path.name for path in (model / "onnx").iterdir())
    printed = answered("calibrate", model, "--data", data, "--abstain-below", 0.6)
    assert printed == json.loads((model / "calibration.json").read_text())
    assert printed["temperature"] > 1.5
    assert (printed["fitted_on"], printed["measured_on"]) == (100, 100)
    assert printed["ece_before"] > 0.15 > printed["ece_after"]
    assert (printed["aim"], printed["abstain_below"]) == ("f1", 0.6)
    card = (model / "README.md").read_text(encoding="utf-8")
    assert f"| temperature | {printed['temperature']:.4f} |" in card
    assert "Not calibrated" not in card
    assert sorted(path.name for path in (model / "onnx").iterdir()) == before


def test_a_diagram_is_drawn_where_matplotlib_is(model, data):
    pytest.importorskip("matplotlib")
    answered("calibrate", model, "--data", data)
    assert (model / "training" / "reliability.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_rest_is_done(model, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    (model / "training" / "reliability.png").write_bytes(b"of an older calibration")
    answer = softquery("calibrate", model, "--data", data, "--json")
    assert answer.code == 0
    assert 'pip install "softquery[plot]"' in answer.err
    assert not (model / "training" / "reliability.png").exists()
    assert (model / "calibration.json").exists()


def test_every_verb_obeys(model, data, tmp_path):
    one = ("match", "A man eats at home.", "Some man eats at home.", "--model", model)
    ranked = (
        "rank",
        "A man eats at home.",
        "--candidates",
        tmp_path / "docs.txt",
        "--model",
        model,
    )
    why = ("explain", *one[1:])
    (tmp_path / "docs.txt").write_text("Some man eats at home.\n")
    sure = answered(*one)
    assert sure["label"] == "same"
    fitted = answered("calibrate", model, "--data", data, "--aim", "none")
    odds = sure["score"] / (1 - sure["score"])
    wanted = 1 / (1 + odds ** (-1 / fitted["temperature"]))
    calibrated = answered(*one)
    assert calibrated["score"] == pytest.approx(wanted, abs=1e-3)
    assert calibrated["score"] < sure["score"]
    assert answered(*ranked)[0]["score"] == pytest.approx(calibrated["score"], abs=1e-3)
    assert answered(*why)["score"] == pytest.approx(calibrated["score"], abs=1e-3)
    assert fitted["threshold"] is None


def test_abstaining_is_told(model, data, tmp_path):
    answered("calibrate", model, "--data", data, "--abstain-below", 1)
    one = ("A man eats at home.", "Some man eats at home.", "--model", model)
    assert answered("match", *one)["label"] is None
    assert "not sure enough to answer" in softquery("match", *one).out
    assert "no answer" in softquery("explain", *one).out
    assert answered("evaluate", model, "--data", data)["n"] == 200  # which must answer


def test_a_precision_is_noted_in_the_card(model, data):
    fitted = answered("calibrate", model, "--data", data, "--aim", "precision=0.7")
    assert fitted["aim"] == 0.7
    assert 0 <= fitted["threshold"] <= 1
    assert "| aim | 0.7000 |" in (model / "README.md").read_text(encoding="utf-8")


def test_twice_is_as_good_as_once(model, data):
    first = answered("calibrate", model, "--data", data)
    card = (model / "README.md").read_bytes()
    assert answered("calibrate", model, "--data", data) == first
    assert (model / "README.md").read_bytes() == card
    assert card.count(b"## Calibration") == 1


def test_export_keeps_it(trained, data, tmp_path):
    plain = shutil.copytree(trained / "model", tmp_path / "plain")
    fitted = answered("calibrate", plain, "--data", data)
    answered("export", plain, "--output", tmp_path / "onnx")
    assert json.loads((tmp_path / "onnx" / "calibration.json").read_text()) == fitted


def test_other_columns(model, tmp_path):
    rows = english(40, seed=3)
    data = write_tsv(tmp_path / "dev.tsv", rows, ("q1", "q2", "is_same"))
    columns = "sentence1=q1,sentence2=q2,label=is_same"
    assert answered("calibrate", model, "--data", data, "--columns", columns)["fitted_on"] == 20


def test_a_table_for_people(model, data):
    answer = softquery("calibrate", model, "--data", data)
    assert answer.code == 0
    for word in ("temperature", "ece_before", "ece_after", "threshold", "precision"):
        assert word in answer.out


def test_three_labels_get_no_threshold(inference_run, tmp_path):
    model = shutil.copytree(inference_run[0], tmp_path / "model")
    data = write_tsv(tmp_path / "dev.tsv", inference(60, seed=4))
    fitted = answered("calibrate", model, "--data", data)
    assert fitted["threshold"] is None
    assert "aim" not in fitted
    answer = softquery("calibrate", model, "--data", data, "--aim", "precision=0.9")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "softquery: a threshold needs two labels, this model has 3\n"


def test_grades_are_refused(graded_run, tmp_path):
    data = write_tsv(tmp_path / "dev.tsv", graded(40, seed=4))
    answer = softquery("calibrate", graded_run[0], "--data", data)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "softquery: grades are not probabilities; there is nothing to calibrate\n"
    )


@pytest.fixture
def domains(tmp_path):
    """Two files: in one labels are as they should be, in the other every third is turned round."""
    turned = {"same": "different", "different": "same"}
    for name, every, seed in (("chat", 3, 8), ("mail", 1000, 9)):
        pairs = [
            (first, second, turned[label] if place % every == 1 else label)
            for place, (first, second, label) in enumerate(english(90, seed=seed))
        ]
        write_tsv(tmp_path / f"{name}.tsv", pairs)
    return tmp_path / "chat.tsv", tmp_path / "mail.tsv"


def test_several_files_are_several_sources(model, domains):
    chat, mail = domains
    fitted = answered("calibrate", model, "--data", chat, "--data", mail)
    assert fitted == json.loads((model / "calibration.json").read_text())
    assert list(fitted["sources"]) == ["chat", "mail"]
    assert (fitted["fitted_on"], fitted["measured_on"]) == (90, 90)
    for part in fitted["sources"].values():
        assert (part["fitted_on"], part["measured_on"]) == (45, 45)
        assert all(0 <= value <= 1 for name, value in part.items() if name.startswith("ece"))
    worst = max(fitted["sources"], key=lambda name: fitted["sources"][name]["ece_after"])
    assert fitted["worst_source"] == worst
    assert fitted["worst_ece"] == fitted["sources"][worst]["ece_after"]
    card = softquery("models", model).out
    assert f"| worst_source | {worst} |" in card
    assert "| source | rows | ECE before | ECE after | left out | by chance |" in card
    assert "| chat | 45 |" in card


def test_a_column_names_the_sources(model, domains, tmp_path):
    files = answered("calibrate", model, "--data", domains[0], "--data", domains[1])
    lines = [
        f"{line}\t{path.stem}"
        for path in domains
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    ]
    header = "sentence1\tsentence2\tlabel\tdomain"
    (tmp_path / "all.tsv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    assert answered("calibrate", model, "--data", tmp_path / "all.tsv", "--by", "domain") == files


def test_evaluate_tells_the_sources(model, domains):
    chat, mail = domains
    before = answered("evaluate", model, "--data", mail)
    assert 0 <= before["ece"] <= 1
    assert "calibrated_on" not in before
    fitted = answered("calibrate", model, "--data", chat, "--data", mail)
    told = answered("evaluate", model, "--data", mail)["calibrated_on"]
    assert told["sources"] == fitted["sources"]
    assert told["worst_source"] == fitted["worst_source"]
    shown = softquery("evaluate", model, "--data", mail).out
    assert f"worst source: {fitted['worst_source']}" in shown


def test_sources_that_say_nothing_sensible_are_passed_over(model, domains):
    (model / "calibration.json").write_text('{"temperature": 2, "sources": {"a": 1, "b": []}}')
    assert "calibrated_on" not in answered("evaluate", model, "--data", domains[1])
