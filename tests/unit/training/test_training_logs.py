"""What a run writes down: rows, events, curves."""

import csv
import sys

import pytest

from softquery.training import draw_curves
from softquery.training.run_records import History

TRAINED = {"step": 100, "epoch": 0, "loss": 1.23456789, "lr": 4e-4, "examples_per_second": 1234.5}
MEASURED = {"step": 120, "epoch": 0, "tune_accuracy": 0.5, "tune_loss": 1.0}


def read(folder):
    with open(folder / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_become_a_table(tmp_path):
    history, rows = History(tmp_path), []
    history.add(rows, TRAINED)
    history.add(rows, MEASURED)
    history.write(rows)
    history.close()
    assert rows == [TRAINED, MEASURED]
    first, second = read(tmp_path)
    assert list(first) == [*TRAINED, "tune_accuracy", "tune_loss"]
    assert (first["step"], first["loss"], first["tune_accuracy"]) == ("100", "1.23457", "")
    assert (second["loss"], second["tune_accuracy"]) == ("", "0.5")


def test_counts_are_written_in_full(tmp_path):
    History(tmp_path).write([{**TRAINED, "step": 12_345_678}])
    assert read(tmp_path)[0]["step"] == "12345678"


def test_the_table_is_written_anew_each_time(tmp_path):
    history = History(tmp_path)
    history.write([TRAINED, MEASURED])
    history.write([TRAINED])
    assert len(read(tmp_path)) == 1


def test_no_rows_are_a_header(tmp_path):
    History(tmp_path).write([])
    text = (tmp_path / "log.csv").read_text(encoding="utf-8")
    assert text == "step,epoch,loss,lr,examples_per_second\n"


def test_the_latest_facts_are_kept_together(tmp_path):
    history, rows = History(tmp_path), []
    history.add(rows, TRAINED)
    history.add(rows, MEASURED)
    assert history.latest == {**TRAINED, **MEASURED}
    history.close()


def test_tensorboard_gets_the_same_numbers(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    history = History(tmp_path)
    history.add([], TRAINED)
    history.add([], MEASURED)
    history.close()
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {
        "loss",
        "lr",
        "examples_per_second",
        "tune_accuracy",
        "tune_loss",
    }
    (loss,) = events.Scalars("loss")
    assert (loss.step, loss.value) == (100, pytest.approx(1.23456789))


def test_a_log_without_tensorboard_is_a_log(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    history, rows = History(tmp_path), []
    history.add(rows, TRAINED)
    history.write(rows)
    history.close()
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "rows",
    [[TRAINED, MEASURED, {**TRAINED, "step": 200}, {**MEASURED, "step": 240}], [MEASURED], []],
    ids=["both", "metric alone", "nothing"],
)
def test_curves_are_a_picture(tmp_path, rows):
    pytest.importorskip("matplotlib")
    assert draw_curves(rows, "tune_accuracy", tmp_path / "curves.png") is True
    content = (tmp_path / "curves.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (840, 480)


def test_without_matplotlib_there_are_no_curves(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert draw_curves([TRAINED], "tune_accuracy", tmp_path / "curves.png") is False
    assert list(tmp_path.iterdir()) == []
