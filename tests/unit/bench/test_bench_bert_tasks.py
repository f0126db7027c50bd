"""What pretraining is worth: gains are told, and curves drawn where there are any."""

import argparse
import json

import pytest

pytest.importorskip("matplotlib")

SCRIPT = "bert.tasks"


def row(name, seed, metric, figure, **more):
    return {"name": name, "seed": seed, "dev": {metric: figure}, "tune": {metric: 0.5},
            "training": {"seconds": 10.0}, **more}  # fmt: skip


def told(script, folder, rows):
    """What a report of these rows writes."""
    results = folder / "rows.jsonl"
    results.write_text("".join(json.dumps(each) + "\n" for each in rows))
    options = argparse.Namespace(
        results=results, json=folder / "told.json", picture=folder / "curves.png"
    )
    script.report(options)
    return json.loads(options.json.read_text()), options.picture.is_file()


def test_a_gain_is_the_difference_of_means(script, tmp_path, capsys):
    rows = [row("random-sst2", 1, "accuracy", 0.70, curve=[0.5, 0.6]),
            row("random-sst2", 2, "accuracy", 0.72, curve=[0.5]),
            row("pretrained-sst2", 1, "accuracy", 0.80, curve=[0.7, 0.8]),
            row("pretrained-snli", 1, "accuracy", 0.80)]  # fmt: skip
    found, drawn = told(script, tmp_path, rows)
    assert found["gains"] == {"sst2": pytest.approx(9)}
    assert drawn
    printed = capsys.readouterr().out
    assert "| random-sst2 | accuracy | 2 | 71.00 ± 1.41 | 10 |" in printed
    assert "pretraining: sst2 +9.00; mean +9.00" in printed


def test_without_curves_there_is_no_picture(script, tmp_path):
    found, drawn = told(script, tmp_path, [row("minilm-snli", 1, "accuracy", 0.8)])
    assert (found["gains"], drawn) == ({}, False)


def test_a_curve_is_of_what_steers(script, tmp_path):
    (tmp_path / "training").mkdir()
    (tmp_path / "metrics.json").write_text(json.dumps({"tune": {"f1": 0.6, "n": 9}}))
    log = "step,tune_f1,tune_loss\n1,,\n2,0.5,1.0\n3,,\n4,0.6,0.9\n"
    (tmp_path / "training" / "log.csv").write_text(log)
    assert script.curve(tmp_path) == [0.5, 0.6]


def test_each_start_has_its_settings(script):
    options = argparse.Namespace(bert="ours", minilm="minilm", seeds=1, sst2="a", snli="b",
                                 conll=None)  # fmt: skip
    runs = {run.name: run for run in script.runs(options)}
    assert set(runs) == {f"{start}-{task}" for start in ("random", "pretrained", "minilm")
                         for task in ("sst2", "snli")}  # fmt: skip
    assert runs["pretrained-sst2"].settings == ("bert.bundle=ours", *script.PRETRAINED)
    assert runs["random-sst2"].settings == ("bert.bundle=ours", *script.RANDOM)
    assert runs["minilm-sst2"].settings == ("bert.bundle=minilm", *script.SAME[:-1])
    assert runs["minilm-snli"].settings == ("bert.bundle=minilm", *script.SAME)
