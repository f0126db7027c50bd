"""Graphs that an earlier softquery exported still write what they wrote then.

`frozen_generators` is never written anew: its graphs take weights by the names of their time.
"""

import json
from pathlib import Path

import pytest

from softquery.decoding import Beam, Greedy
from softquery.runtime import GenerateRequest, load_generator

FROZEN = Path(__file__).with_name("frozen_generators")
EXPECTED = json.loads((FROZEN / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=sorted(EXPECTED))
def name(request):
    return request.param


def test_they_write_what_they_wrote(name):
    rows = EXPECTED[name]
    request = GenerateRequest(strategy=Greedy(), max_length=12)
    found = load_generator(FROZEN / name, backend="onnx").predict(
        [row["source"] for row in rows], request
    )
    assert [each.text for each in found] == [row["text"] for row in rows]
    assert [each.log_probability for each in found] == pytest.approx(
        [row["log_probability"] for row in rows], abs=1e-4
    )


def test_the_expected_answers_tell_models_apart():
    scores = [row["log_probability"] for rows in EXPECTED.values() for row in rows]
    assert len(set(scores)) == len(scores)


def test_they_agree_with_torch_in_a_beam_too(name):
    request = GenerateRequest(strategy=Beam(size=3, num_best=2), max_length=8)
    texts = [row["source"] for row in EXPECTED[name]]
    one, other = (load_generator(FROZEN / name, backend=how).generate(texts, request)
                  for how in ("onnx", "torch"))  # fmt: skip
    assert [[each.text for each in some] for some in one] == [
        [each.text for each in some] for some in other
    ]


def test_they_are_of_an_earlier_age():
    """Otherwise nothing would be tested here."""
    used = [json.loads((FROZEN / each / "onnx" / "weights.json").read_text())["step"]
            for each in ("transformer", "seq2seq")]  # fmt: skip
    assert "decoder.0.own_attention.query_projection.weight" in used[0]
    assert "readout.pairs.weight" in used[1]
