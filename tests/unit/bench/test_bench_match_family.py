"""ESIM's family by shape: the page tells what was measured, and every shape can be built."""

import json

import pytest

SCRIPT = "match.family"


@pytest.fixture(scope="module")
def results(script):
    return json.loads(script.RESULTS.read_text(encoding="utf-8"))


def test_every_variant_was_measured_in_every_round(script, results):
    assert list(results["milliseconds"]) == list(script.VARIANTS)
    counts = {
        len(times[scene][kind])
        for times in results["milliseconds"].values()
        for scene in script.SCENES
        for kind in script.PRECISIONS
    }
    assert counts == {14}  # two runs of seven
    assert results["threads"] == 2


def test_the_page_shows_what_was_measured(script, results):
    page = script.HERE.parents[1] / "docs" / "models" / "esim-family.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "(3) |" in line
             or "(1) |" in line or "| – |" in line]  # fmt: skip
    assert shown == script.rows(results)


def test_multiply_adds_are_those_of_the_weights(script):
    torch = pytest.importorskip("torch")
    from softquery.models import Esim, EsimConfig

    for settings in script.VARIANTS.values():
        if "model" in settings:
            continue
        model = Esim(EsimConfig(vocab_size=5, embedding_size=4, **settings))
        composer = sum(each.numel() for each in model.composer.parameters() if each.dim() == 2)
        product = model.project[0].weight.chunk(4, dim=1)[3]
        assert script.multiply_adds(settings) == product.numel() + composer
    assert torch is not None
