"""The table of tasks: it takes what there is, and leaves out what there is not."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
if not (BENCHMARKS / "compare_tasks.py").is_file():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def script():
    """The script as a module; it imports its neighbours by name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location(
            "compare_tasks", BENCHMARKS / "compare_tasks.py"
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def row(name, seed, metric, figure, **more):
    return {"name": name, "seed": seed, "dev": {metric: figure, "n": 9}, "tune": {metric: 0.5},
            "training": {"seconds": 10.0 * seed}, **more}  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """As other benchmarks leave them: lines, and an object whose keys end in the seed."""
    lines = [row("pretrained-sst2", 1, "accuracy", 0.9), row("pretrained-sst2", 2, "accuracy", 0.8),
             row("minilm-other", 1, "accuracy", 0.9)]  # fmt: skip
    (tmp_path / "bert_tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    lines = [row("elmo", 1, "f1", 0.94, share=1.0), row("elmo", 1, "f1", 0.1, share=0.1)]
    (tmp_path / "tagging.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    kept = {"plain-seed-1": row("", 1, "accuracy", 0.83)}
    kept["plain-seed-1"].pop("name")
    (tmp_path / "esim_elmo.json").write_text(json.dumps(kept))
    return tmp_path


def test_the_table_has_what_was_measured(script, results, tiny_bundle):
    given = {("snli", "word vectors"): tiny_bundle}
    found = script.with_bundles(script.from_results(results), given, rounds=1)
    lines = script.table(found).splitlines()[2:]
    assert lines[0] == "| SST-2 | our BERT | accuracy | 2 | 85.00 ± 7.07 |  | 15 s |  |"
    assert lines[1].startswith(
        "| SNLI, 100k | word vectors | accuracy | 1 | 83.00 | 0.0 M | 10 s |"
    )
    assert lines[1].endswith(" ms |")
    assert lines[2] == "| CoNLL-2003 | ELMo | f1 | 1 | 94.00 |  | 10 s |  |"
    assert len(lines) == 3


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
    monkeypatch.setattr(sys, "argv", ["compare_tasks.py", "--results", str(tmp_path / "none")])
    assert script.main() == 2
    assert capsys.readouterr().err.endswith("none: no results, and no bundle was given\n")
    with pytest.raises(script.ConfigError, match="metrics.json has no f1 on dev"):
        script.with_bundles({}, {("conll", "ELMo"): tiny_bundle}, rounds=1)
