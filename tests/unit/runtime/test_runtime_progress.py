"""Long calls show their progress if they are asked to, and nothing otherwise."""

import sys
import types

import pytest

from softquery import progress_display
from softquery.progress_display import Count, NotebookDisplay, bar_html, in_notebook, showing
from softquery.runtime import load

TEXTS = [f"question number {number}" for number in range(600)]


@pytest.fixture(scope="module")
def matcher():
    return load("match-en", threads=1)


def test_a_call_is_silent_unless_it_is_asked_to_show(matcher, capsys):
    pairs = [(text, TEXTS[0]) for text in TEXTS[:300]]
    silent = matcher.predict(pairs)
    vectors = matcher.encode(TEXTS[:9])
    assert capsys.readouterr() == ("", "")
    assert matcher.predict(pairs, progress=True) == silent
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("300 of 300 pairs")
    assert (matcher.encode(iter(TEXTS[:9]), progress=True) == vectors).all()
    assert capsys.readouterr().err.startswith("9 of 9 texts")


class Kernel:
    """Stands for IPython in a kernel, and keeps what is displayed."""

    kernel = True

    def __init__(self):
        self.shown = []

    def display(self, bundle, *, raw, display_id):
        assert (raw, display_id) == (True, True)
        self.shown.append(bundle)
        return self

    def update(self, bundle, *, raw):
        self.shown.append(bundle)


def test_a_notebook_has_one_output_that_is_updated(monkeypatch):
    kernel = Kernel()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: kernel
    display = types.ModuleType("IPython.display")
    display.display = kernel.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress_display, "NOTEBOOK_SECONDS", 0.0)
    assert in_notebook()
    with showing(True, "<texts>", TEXTS) as advance:
        advance(256)
        advance(600)
    assert [bundle["text/plain"] for bundle in kernel.shown] == [
        "256 of 600 <texts>", "600 of 600 <texts>", "600 of 600 <texts>",
    ]  # fmt: skip
    assert 'value="256" max="600"' in kernel.shown[0]["text/html"]
    assert "<texts>" not in kernel.shown[0]["text/html"]


def test_updates_of_a_notebook_are_not_many(monkeypatch):
    kernel = Kernel()
    display = types.ModuleType("IPython.display")
    display.display = kernel.display
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    shown, count = NotebookDisplay(), Count("texts", 1000)
    for count.done in range(1000):
        shown.show(count, is_last=False)
    shown.show(count, is_last=True)
    assert len(kernel.shown) < 100


def test_without_a_total_there_is_a_bar_without_an_end():
    assert "value" not in bar_html(Count("rows", None))


def test_a_kernel_is_told_from_a_shell(monkeypatch):
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: object()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not in_notebook()
