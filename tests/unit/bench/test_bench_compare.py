"""The table of tasks: it takes what there is, and leaves out what there is not."""

import argparse
import json
import shutil
import sys

import pytest

from softquery.bundle import read_bundle

SCRIPT = "compare.compare"


def row(name, seed, metric, figure, **more):
    return {"name": name, "seed": seed, "dev": {metric: figure, "n": 9}, "tune": {metric: 0.5},
            "training": {"seconds": 10.0 * seed}, **more}  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """As other benchmarks leave them: lines, and an object whose keys end in the seed."""
    lines = [row("pretrained-sst2", 1, "accuracy", 0.9), row("pretrained-sst2", 2, "accuracy", 0.8),
             row("minilm-other", 1, "accuracy", 0.9)]  # fmt: skip
    again = {"settings": ["optim.lr=1e-4"]}
    lines += [row("minilm-sst2", 1, "accuracy", 0.1, settings=["optim.lr=1e-3"]),
              row("minilm-sst2", 1, "accuracy", 0.6, **again),
              row("minilm-sst2", 2, "accuracy", 0.7, **again),
              row("minilm-sst2", 1, "accuracy", 0.8, **again)]  # fmt: skip
    for folder in ("bert", "tag", "esim"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bert/tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    lines = [row("elmo", 1, "f1", 0.94, share=1.0), row("elmo", 1, "f1", 0.1, share=0.1)]
    (tmp_path / "tag/tag.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    kept = {"plain-seed-1": row("", 1, "accuracy", 0.83)}
    kept["plain-seed-1"].pop("name")
    (tmp_path / "esim/with_elmo.json").write_text(json.dumps(kept))
    return tmp_path


def test_the_table_has_what_was_measured(script, results, tiny_bundle):
    given = {("snli", "word vectors"): tiny_bundle}
    found = script.with_bundles(script.from_results(results), given, rounds=1)
    lines = script.table(found).splitlines()[2:]
    assert lines[0] == "| **SST-2**, accuracy |  |  |  |  |  |"
    assert lines[1] == "| our BERT | 85.00 ± 7.07 | 2 |  | 15 s |  |"
    # A seed that was run anew counts once, and other settings than the last do not count.
    assert lines[2] == "| MiniLM | 75.00 ± 7.07 | 2 |  | 15 s |  |"
    assert lines[3] == "| **SNLI-100k**, accuracy |  |  |  |  |  |"
    assert lines[4].startswith("| word vectors | 83.00 | 1 | 0.0 M | 10 s |")
    assert lines[4].endswith(" ms |")
    assert lines[5:] == [
        "| **CoNLL-2003**, F1 |  |  |  |  |  |",
        "| ELMo | 94.00 | 1 |  | 10 s |  |",
    ]


def test_a_bundle_of_another_run_than_the_rows_is_told(script, results, tiny_bundle, capsys):
    metrics = json.loads((tiny_bundle / "metrics.json").read_text())
    other = shutil.copytree(tiny_bundle, results / "other")
    (other / "metrics.json").write_text(json.dumps({**metrics, "dev": {"accuracy": 0.25}}))
    given = {("snli", "word vectors"): other}
    (found,) = script.with_bundles({}, given, rounds=1)
    assert (found.dev, found.precision) == ([0.25], "float32")
    assert capsys.readouterr().err == ""
    found = script.with_bundles(script.from_results(results), given, rounds=1)[2]
    assert found.dev == [0.83]
    assert "snli by word vectors was 25.00 on dev, which no row has" in capsys.readouterr().err


def test_bundles_may_stand_for_sizes_alone(script, results, tiny_bundle, capsys):
    metrics = json.loads((tiny_bundle / "metrics.json").read_text())
    step = shutil.copytree(tiny_bundle, results / "step")
    (step / "metrics.json").write_text(json.dumps({**metrics, "dev": {"accuracy": 0.25}}))
    given = {("snli", "word vectors"): step, ("snli", "ELMo"): step}
    found = script.with_bundles(script.from_results(results), given, rounds=1, sizes_only=True)
    (row,) = [each for each in found if each.task == "snli"]
    assert (row.way, row.dev, row.seconds) == ("word vectors", [0.83], 10.0)
    assert row.parameters > 0
    assert row.milliseconds > 0
    assert capsys.readouterr().err == "snli by ELMo has no rows yet: left out\n"
    assert script.with_bundles({}, given, rounds=1, sizes_only=True) == []


def test_parameters_are_those_that_were_learnt(script, results, tiny_bundle):
    found, made = script.from_results(results), {}
    for name in ("plain", "tiny"):  # the export folds ESIM's projection
        given = {("snli", "word vectors"): tiny_bundle.with_name(name)}
        made[name] = script.with_bundles(found, given, rounds=1, sizes_only=True)[2]
    whole = read_bundle(tiny_bundle.with_name("plain")).read_weights()
    learnt = sum(values.size for values in whole.values())
    assert made["plain"].parameters == learnt > made["tiny"].parameters
    assert made["plain"].precision == "float32"
    assert made["plain"].milliseconds > 0


def test_what_is_not_exported_is_exported_elsewhere(script, tiny_bundle, tmp_path):
    plain = read_bundle(shutil.copytree(tiny_bundle, tmp_path / "plain"))
    shutil.rmtree(plain.path / "onnx")
    (tmp_path / "scratch").mkdir()
    made = script.exported(read_bundle(plain.path), tmp_path / "scratch")
    assert made.is_exported
    assert made.path.parent == tmp_path / "scratch"
    assert not (plain.path / "onnx").exists()
    assert script.exported(made, tmp_path / "scratch") is made
    (plain.path / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(script.ConfigError, match=r"plain: cannot be exported \(softquery: .*plain"):
        script.exported(plain, tmp_path / "scratch")


def test_the_page_says_what_its_table_means(script, results, tiny_bundle, monkeypatch):
    pytest.importorskip("matplotlib", reason="pictures need the extra [plot]")
    (results / "docs").mkdir()
    written = ["--output", results / "some.png", "--json", results / "all.json",
               "--markdown", results / "docs" / "compare.md"]  # fmt: skip
    words = ["--results", results, "--bundle", f"snli/word vectors={tiny_bundle}", "--rounds", 1,
             "--trained-on", "sst2/our BERT=one core", *written]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, words)])
    assert script.main() == 0
    lines = (results / "docs" / "compare.md").read_text(encoding="utf-8").splitlines()
    assert lines[3] == "| our BERT | 85.00 ± 7.07 | 2 |  | 15 s (one core) |  |"
    assert "a question about 96 words" in lines[-3]
    assert "trained for one step" not in lines[-3]
    assert lines[-3].endswith(
        "ELMo is the shipped `elmo-en` (1,024/192) on SST-2, SNLI-100k and SQuAD 1.1 and a "
        "medium one (2,048/256) on CoNLL-2003."
    )
    assert lines[-1] == "![How good against how long one text takes](../some.png)"
    kept = json.loads((results / "all.json").read_text())
    assert "ONNX Runtime" in kept["machine"]
    assert [each["task"] for each in kept["rows"]] == ["sst2", "sst2", "snli", "conll"]
    assert not kept["sizes_only"]
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--sizes-only"])
    assert script.main() == 0
    lines = (results / "docs" / "compare.md").read_text(encoding="utf-8").splitlines()
    assert "vocabularies that were trained for one step, as neither depends" in lines[-3]
    assert json.loads((results / "all.json").read_text())["sizes_only"]


def test_the_figure_shows_what_was_timed(script, results, tiny_bundle, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pictures need the extra [plot]")
    script.draw(list(script.from_results(results).values()), tmp_path / "none.png")
    assert "no bundle was given: nothing to draw" in capsys.readouterr().err
    assert not (tmp_path / "none.png").exists()
    given = {("snli", "word vectors"): tiny_bundle}
    script.draw(script.with_bundles(script.from_results(results), given, rounds=1),
                tmp_path / "some.png")  # fmt: skip
    assert (tmp_path / "some.png").stat().st_size > 1000


def test_mistakes_are_told(script, tmp_path, tiny_bundle, monkeypatch, capsys):
    with pytest.raises(argparse.ArgumentTypeError, match="expected TASK/WAY=FOLDER, TASK one of"):
        script.placed("sst3/ELMo=folder")
    monkeypatch.setattr(sys, "argv", ["compare.py", "--results", str(tmp_path / "none")])
    assert script.main() == 2
    assert capsys.readouterr().err.endswith("none: no results, and no bundle was given\n")
    with pytest.raises(script.ConfigError, match="metrics.json has no accuracy on dev"):
        script.with_bundles({}, {("snli", "ELMo"): tiny_bundle}, rounds=1)
    said = "expected a tagger for conll, found kind 'matcher'"
    with pytest.raises(script.ConfigError, match=said):
        script.with_bundles({}, {("conll", "ELMo"): tiny_bundle}, rounds=1)


def test_the_page_shows_what_was_measured(script):
    """Its words are written by hand, its table is not."""
    measured = json.loads((script.HERE / "compare.json").read_text(encoding="utf-8"))
    rows = [script.Measured(**row) for row in measured["rows"]]
    page = (script.HERE.parents[1] / "docs" / "compare.md").read_text(encoding="utf-8")
    assert script.table(rows) in page
    figures = script.from_results(script.HERE.parent)
    assert [row.dev for row in rows] == [figures[row.task, row.way].dev for row in rows]
