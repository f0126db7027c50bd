"""What benchmark pages and docs show is what the rows beside them say."""

import json
import re
import runpy
from pathlib import Path

import pytest

from softquery.bundle import read_bundle
from softquery.bundle.layer_weights import learnt_layers
from softquery.zoo import resolve

SCRIPT = "generate.couplet_rules"
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("upper", "lower", "told"),
    [
        ("春花山日", "秋月水风", "keeps it"),
        ("春花山日", "春月水风", "takes a character of the upper line"),
        ("春花山日", "秋秋水风", "repeats where the upper line does not"),
        ("山山水水", "日风明月", "does not repeat with it"),
        ("春花", "秋", "not as long"),
    ],
)
def test_a_pair_breaks_what_it_breaks(script, upper, lower, told):
    assert script.broken_repeats(upper, lower) == told
    shares = script.measured([(upper, lower)])
    assert shares["repeats_rightly"]["share"] == float(told == "keeps it")
    assert shares["repeats_where"] == {told: 1.0}


def test_an_interval_holds_its_share(script):
    found = script.share([True] * 9 + [False, None])
    assert (found["share"], found["n"]) == (0.9, 10)
    assert 0.5 < found["low"] < 0.9 < found["high"] < 1


def test_the_page_on_couplets_shows_the_rows_of_true_lines(script):
    folder = ROOT / "benchmarks/generate"
    rows = json.loads((folder / "couplet_rules.json").read_text("utf-8"))
    page = (folder / "couplets.md").read_text("utf-8")
    for name, row in rows.items():
        shares = [row[rule]["share"] for rule in (*script.RULES, "all_rules")]
        cells = " | ".join(f"{100 * each:.1f}" for each in shares)
        assert f"| {name} | {row['n']:,} | {cells} |" in page
    dev = [f"{100 * rows['dev'][rule]['share']:.1f}" for rule in script.RULES]
    assert f"| **true lower lines** | | | | | {' | '.join(dev)} |" in page
    guide = (ROOT / "docs/couplets.md").read_text("utf-8")
    said = re.search(r"Of the true lower lines .*?tone", guide, re.DOTALL)
    assert said is not None
    assert all(f"{each} %" in said.group() for each in dev)


@pytest.mark.parametrize("page", ["docs/theory/cost.md", "benchmarks/theory/README.md"])
def test_the_pages_on_cost_show_the_measured_ratios(page):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not here")
    rows = json.loads((ROOT / "benchmarks/theory/cost.json").read_text("utf-8"))["rows"]
    ms = {(row["layer"], row["width"], row["length"]): row["ms"] for row in rows}
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in (ROOT / page).read_text("utf-8").splitlines()
        if re.match(r"\| \d+ \| [\d,]+ \| ", line)
    ]
    assert len(lines) >= 12
    for line in lines:
        width, length = int(line[0]), int(line[1].replace(",", ""))
        ours = ms["attention", width, length]
        others = (ms[name, width, length] for name in ("recurrence", "convolution"))
        assert line[-2:] == [f"{ours / other:.2f}" for other in others]


def test_the_pages_on_windows_show_the_measured_times():
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not here")
    rows = json.loads((ROOT / "benchmarks/theory/windows.json").read_text("utf-8"))["rows"]
    ms = {(row["window"], row["length"]): row["ms"] for row in rows}
    theory, guide = (
        (ROOT / page).read_text("utf-8") for page in ("docs/theory/cost.md", "docs/bert.md")
    )
    for length in sorted({row["length"] for row in rows}):
        each, wide, narrow = (ms[window, length] for window in (0, 128, 32))
        times = " | ".join(f"{time:,.1f}" for time in (each, wide, narrow))
        shares = f"{wide / each:.2f} | {narrow / each:.2f}"
        assert f"| {length:,} | {times} | {shares} |" in theory
        if length >= 512:
            rounded = " | ".join(f"{time:,.0f}" for time in (each, wide, narrow))
            assert f"| {length:,} | {rounded} |" in guide
    saved = [round(100 * (1 - ms[window, 4096] / ms[0, 4096])) for window in (128, 32)]
    assert f"at 4,096 it saves {saved[0]} to {saved[1]} %" in guide


def test_the_page_on_elmo_shows_what_tasks_and_probes_found():
    if not (ROOT / "docs").is_dir():
        pytest.skip("the documentation is not here")
    pytest.importorskip("softquery_models", reason="needs softquery-models")
    page = (ROOT / "docs/elmo.md").read_text("utf-8")
    for model, told in (("tagger-en", "the tagger takes"), ("sentiment-en", "of sentiment"),
                        ("ner-en", "the finder of names")):  # fmt: skip
        [learnt] = learnt_layers(read_bundle(resolve(model)))
        low, middle, high = (f"{share:.2f}" for share in learnt.shares)
        assert f"{told} {low}, {middle} and {high}" in page
    tags = json.loads((ROOT / "benchmarks/probes/probes.json").read_text("utf-8"))["tags"]
    found = [tags["dev"]["systems"][f"elmo-en layer {layer}"]["accuracy"] for layer in (1, 2, 0)]
    first, second, none = (f"{100 * each:.1f} %" for each in found)
    assert f"{first} against {second} in layer 2 and {none} in layer" in page


def test_the_page_on_root_d_shows_what_its_script_computes():
    script = ROOT / "docs/figures/root_d.py"
    if not script.is_file():
        pytest.skip("the documentation is not here")
    pytest.importorskip("matplotlib", reason="pictures are drawn with the extra [plot]")
    pytest.importorskip("torch", reason="attention is computed with torch")
    made = runpy.run_path(str(script))
    page = (ROOT / "docs/theory/root-d.md").read_text("utf-8")
    for width in (4, 64, 512):
        for (_, score, _), told in zip(made["SCORES"], ("q·k", "q·k / √d"), strict=True):
            spread, bits, slope = (
                made[name](score, width) for name in ("variance", "entropy", "slope")
            )
            assert f"| {told} | {spread:.2f} | {bits:.2f} bits | {slope:.3f} |" in page
