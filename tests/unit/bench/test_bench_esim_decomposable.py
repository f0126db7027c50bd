"""Decomposable attention beside ESIM: what is run, and that the page tells what was measured."""

import json
import statistics

SCRIPT = "esim.decomposable"
EARLIER = ("earlier-", "unscaled-")
"""Rows of the code as it was before; they cannot be made again."""


def measured(script):
    return json.loads(script.RESULTS.read_text(encoding="utf-8"))


def per_cent(results, names, split):
    return [f"{100 * results[name][split]['accuracy']:.2f}" for name in names]


def test_every_row_has_its_settings_but_those_of_earlier_code(script):
    today = {name for name in measured(script) if not name.startswith(EARLIER)}
    assert today == set(script.variants())


def test_the_headline_is_the_mean_of_the_seeds(script):
    page = (script.HERE / "decomposable.md").read_text(encoding="utf-8")
    results = measured(script)
    for prefix, shown in (("seed", "{:.2f} % on dev"), ("esim-seed", "{:.2f} % (")):
        names = [f"{prefix}-{number}" for number in (1, 2, 3)]
        mean = statistics.mean(100 * results[name]["dev"]["accuracy"] for name in names)
        assert shown.format(mean) in page
        assert ", ".join(per_cent(results, names, "dev")) in page


def test_every_figure_of_the_table_was_measured(script):
    page = (script.HERE / "decomposable.md").read_text(encoding="utf-8")
    table = page.split("## What was tried")[1]
    rows = [line.split("|")[2:4] for line in table.splitlines() if line.count("|") == 6][2:]
    results = measured(script)
    known = {(found["tune"]["accuracy"], found["dev"]["accuracy"]) for found in results.values()}
    shown = {(f"{100 * held:.2f}", f"{100 * dev:.2f}") for held, dev in known}
    for held, dev in rows:
        pairs = zip(held.split(","), dev.split(","), strict=True)
        assert {(one.strip(), other.strip()) for one, other in pairs} <= shown
    assert rows
