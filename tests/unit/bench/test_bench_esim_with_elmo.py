"""ESIM with and without ELMo: what is run, what is told of it, and that the page tells the same."""

import argparse
import re

import pytest

SCRIPT = "esim.with_elmo"


def cells(line):
    return [each.strip() for each in line.split("|")[1:-1]]


def report(script, capsys, picture, results=None, drawn=None):
    given = argparse.Namespace(results=results or script.RESULTS, picture=picture, drawn=drawn)
    script.report(given)
    rows = map(cells, capsys.readouterr().out.splitlines()[2:])
    return {name: figures for name, *figures in rows}


def test_each_bilm_is_run_at_the_input_and_at_both_places(script):
    runs = script.variants({"wide": "runs/bilm"})
    assert len(runs) == 9
    assert runs["wide-seed-2"] == ("esim-elmo", ["elmo.bundle=runs/bilm", "training.seed=2"])
    assert runs["wide-both-seed-2"][1][-1] == "elmo.places=input,output"
    assert runs["plain-seed-3"] == ("esim-snli", ["training.seed=3"])


def test_the_page_shows_what_was_measured(script, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    found = report(script, capsys, tmp_path / "all.png")
    assert (tmp_path / "all.png").stat().st_size > 10_000
    page = (script.HERE / "with_elmo.md").read_text(encoding="utf-8").replace("**", "")
    shown = {
        re.findall(r"\(`([\w-]+)`?[,:)]", line)[-1]: cells(line)[1:]
        for line in page.splitlines()
        if re.match(r"\| .* \| [123] \| ", line)
    }
    told = {"wide-float32", "plain-c2"}  # in words
    assert shown.keys() == found.keys() - told
    assert shown == {name: found[name] for name in shown}
    for name in told:
        held_back, dev = found[name][1:3]
        assert held_back in page
        assert dev in page


def test_a_variant_that_was_not_run_cannot_be_drawn(script, capsys, tmp_path):
    with pytest.raises(SystemExit, match="no runs of huge"):
        report(script, capsys, tmp_path / "no.png", drawn=["plain", "huge"])
    assert not (tmp_path / "no.png").exists()
