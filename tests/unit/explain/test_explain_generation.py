"""Where an answer looked: data, and pictures of one map or of many."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from softquery.errors import InputError
from softquery.explain import GenerationAlignment


def alignment(*shape, **changes):
    weights = np.full((*shape, 3, 2), 0.5)
    values = {
        "source": "ein <Mann>", "text": "a man", "source_tokens": ("ein", "<Mann>"),
        "tokens": ("a", "man", "<eos>"), "weights": weights, "score": -1.0, "model": "tiny",
    }  # fmt: skip
    return GenerationAlignment(**{**values, **changes})


def test_many_maps_have_a_mean_and_names():
    found = alignment(2, 3)
    assert found.mean.shape == (3, 2)
    assert len(found.heads()) == 6
    assert found.heads()[4][0] == "layer 2, head 2"
    assert alignment().heads() == []
    assert found.strongest(top=1)[0].token == "a"


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_files_of_every_form(tmp_path, shape):
    found = alignment(*shape)
    svg = found.plot(tmp_path / "why.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(svg)
    assert svg.count('class="row"') == 3 * (1 + 6 * bool(shape))
    assert "&lt;Mann&gt;" in svg
    assert "<Mann>" not in svg
    page = found.plot(tmp_path / "why.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "<Mann>" not in page
    data = json.loads(found.plot(tmp_path / "why.json").read_text(encoding="utf-8"))
    assert np.shape(data["weights"]) == (*shape, 3, 2)
    assert data["text"] == "a man"
    pytest.importorskip("matplotlib")
    assert found.plot(tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")


def test_bad_weights_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"weights must be \[T, S\]"):
        alignment(weights=np.ones((2, 2)))
    with pytest.raises(ValueError, match="at least 0"):
        alignment(weights=-np.ones((3, 2)))
    with pytest.raises(InputError, match="expected a name that ends in"):
        alignment().plot(tmp_path / "why.bmp")
