"""Medians, percentiles and ratios of what was measured, and what is refused before measuring."""

import subprocess
import sys

import pytest

from softquery.bench.match import SCENES, MatchBench, _summary, run_match_bench
from softquery.errors import BundleError, ConfigError, MissingExtra

FOUND = [
    {
        "pair_s": [0.001 * n for n in range(1, 51)],
        "batch32_s": [0.2, 0.4],
        "rank100_s": [0.5],
        "startup_s": 1.0,
        "peak_mb": 100.0,
    },
    {
        "pair_s": [0.001 * n for n in range(51, 101)],
        "batch32_s": [0.6],
        "rank100_s": [0.7],
        "startup_s": 3.0,
        "peak_mb": 120.0,
    },
    {
        "pair_s": [1.0],
        "batch32_s": [9.0, 0.5],
        "rank100_s": [0.1],
        "startup_s": 2.0,
        "peak_mb": 90.0,
    },
]


def test_rounds_are_pooled():
    summary = _summary(FOUND)
    assert summary["pair_s"] == pytest.approx(0.051)
    assert summary["pair_s_p95"] == pytest.approx(0.096)
    assert summary["batch32_s"] == 0.5
    assert summary["batch32_s_p95"] == 9.0
    assert summary["rank100_s"] == 0.5
    assert summary["startup_s"] == 2.0
    assert summary["peak_mb"] == 120.0
    assert set(summary) == {*SCENES, *(f"{each}_p95" for each in SCENES), "startup_s", "peak_mb"}


def test_long_candidates_are_summed_up_where_they_were_ranked():
    summary = _summary([{**each, "rank100_50_s": [1.0, 3.0]} for each in FOUND])
    assert (summary["rank100_50_s"], summary["rank100_50_s_p95"]) == (2.0, 3.0)
    assert "rank100_200_s" not in summary


def test_like_is_compared_with_like_first():
    def row(time, *, long=True):
        scenes = {"pair_s": time, "batch32_s": time, "rank100_s": time}
        return {**scenes, "rank100_50_s": 2 * time} if long else scenes

    rows = {
        "softquery m int8": row(0.5), "softquery m float32": row(1.0), "bert torch": row(8.0),
        "bert onnx int8": row(2.0, long=False), "tiny torch": row(4.0),
    }  # fmt: skip
    ratios = MatchBench(threads=2, rounds=1, rows=rows).ratios()
    assert list(ratios) == ["softquery m int8"]
    found = ratios["softquery m int8"]
    assert list(found) == ["bert onnx int8", "bert torch", "tiny torch"]
    assert found["bert onnx int8"] == {"pair_s": 4, "batch32_s": 4, "rank100_s": 4}
    assert found["tiny torch"]["rank100_50_s"] == 8


def test_one_time_is_its_own_percentile():
    summary = _summary([{**FOUND[1], "pair_s": [0.25]}])
    assert (summary["pair_s"], summary["pair_s_p95"]) == (0.25, 0.25)


def test_a_ratio_says_how_many_times_as_long_the_rival_takes():
    rows = {"ours": {"pair_s": 0.002}, "theirs": {"pair_s": 0.1}}
    bench = MatchBench(threads=2, rounds=1, rows=rows)
    assert bench.ratio("theirs", "ours", "pair_s") == pytest.approx(50)
    assert bench.ratio("ours", "theirs", "pair_s") == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rounds": 0}, "rounds and threads must be at least 1"),
        ({"threads": 0}, "rounds and threads must be at least 1"),
        ({"seconds": float("inf")}, "seconds must be from 0 to 3600, got inf"),
        ({"seconds": float("nan")}, "seconds must be from 0 to 3600, got nan"),
        ({"seconds": -1.0}, "seconds must be from 0 to 3600, got -1.0"),
    ],
)
def test_settings_that_measure_nothing_or_for_ever(options, said):
    with pytest.raises(ConfigError, match=f"^{said}$"):
        run_match_bench(["nowhere"], say=lambda line: None, **options)


def test_a_missing_model_is_refused_before_anything_is_exported(tmp_path):
    heard = []
    with pytest.raises(BundleError, match="none: no such model folder$"):
        run_match_bench([str(tmp_path / "none")], say=heard.append)
    assert heard == []


def test_a_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from softquery.bench.match import draw_match_bench

    rows = {
        "softquery match-en": {"pair_s": 0.0004, "rank100_s": 0.006},
        "bert-base torch": {"pair_s": 0.03, "rank100_s": 2.3},
    }
    draw_match_bench(MatchBench(threads=2, rounds=1, rows=rows), tmp_path / "bench.png")
    content = (tmp_path / "bench.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(content) > 5000


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    from softquery.bench.match import draw_match_bench

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'"softquery\[plot\]"$'):
        draw_match_bench(MatchBench(threads=1, rounds=1, rows={}), tmp_path / "bench.png")


def test_without_transformers_the_extra_is_named(monkeypatch):
    from softquery.bench.contestants import transformers

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        MissingExtra, match=r'^timing other models needs an optional part: .*"softquery\[bench\]"$'
    ):
        transformers()


def test_the_command_names_the_extra_before_it_looks_at_a_model(monkeypatch, tmp_path):
    from softquery.cli.bench import bench

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r'"softquery\[bench\]"$'):
        bench("match", model=[str(tmp_path / "none")])


def test_the_command_line_does_not_import_it():
    code = (
        "import sys; sys.argv = ['softquery', '--help']\n"
        "from softquery.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'softquery.bench', 'softquery.runtime', 'torch', 'transformers', 'onnxruntime'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "bench" in done.stdout
    assert done.stderr.strip() == "[]"
