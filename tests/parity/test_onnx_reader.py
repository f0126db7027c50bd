"""A reader on ONNX Runtime beside the same on torch, in every shape, with and without ELMo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

pytest.importorskip("onnx", reason="graphs are written with onnx ([train])")

from small_readers import WORDS, answered, exported_reader, make_reader, random_questions
from softquery.answers import ContextWindow
from softquery.runtime.read.model import load_reader

SHAPES = {
    "as published": {},
    "bilinear": {"score": "bilinear"},
    "dot": {"score": "dot"},
    "scaled dot": {"score": "scaled_dot"},
    "characters by an LSTM": {"spelling": {"kind": "lstm"}},
    "no characters": {"spelling": {"kind": "none"}},
    "no highways, one layer": {"num_highways": 0, "num_layers": 1},
    "no answer": {"no_answer": "learnt"},
    "ELMo at the input": {"elmo": {"places": ("input",)}},
    "ELMo at the output": {"elmo": {"places": ("output",)}, "score": "scaled_dot"},
    "ELMo at both, normalised": {
        "elmo": {"places": ("input", "output"), "normalise": True},
        "score": "bilinear",
        "no_answer": "learnt",
    },
    "ELMo without a table": {
        "elmo": {"places": ("input",), "beside_words": False},
        "spelling": {"kind": "lstm"},
    },
    "ELMo's last layer alone": {
        "elmo": {"places": ("input", "output"), "layers": "last", "learn_scale": False},
        "spelling": {"kind": "none"},
        "num_highways": 0,
    },
}
few = hypothesis_settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module", params=SHAPES)
def both(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    bundle = make_reader(folder / "plain", **SHAPES[request.param])
    report = exported_reader(bundle, folder / "onnx")
    assert report.difference < 1e-5
    return load_reader(bundle, backend="torch", device="cpu"), load_reader(report.bundle)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The same reader in float32 and in int8, large enough that everything is quantised."""
    folder = tmp_path_factory.mktemp("small-reader")
    bundle = make_reader(folder / "plain", size=64)
    rows = answered(random_questions(12))
    exported_reader(bundle, folder / "float32")
    report = exported_reader(bundle, folder / "int8", int8=True, limit=100, rows=rows)
    assert report.precision == "int8"
    return load_reader(folder / "float32"), load_reader(folder / "int8")


def windows_of(reader, pairs):
    from softquery.answers import make_windows

    return make_windows(pairs, reader.pipeline, reader.window).windows


def test_scores_are_those_of_torch(both):
    theirs, ours = both
    assert (theirs.backend.name, ours.backend.name) == ("torch on cpu", "onnx")
    windows = [*windows_of(ours, random_questions(40)), ContextWindow([], ["w1", "w2"])]
    for one, other in zip(
        ours.backend.scores(windows), theirs.backend.scores(windows), strict=True
    ):
        np.testing.assert_allclose(one.start, other.start, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(one.end, other.end, rtol=1e-4, atol=1e-4)
        assert one.none == other.none


def test_meetings_are_those_of_torch(both):
    theirs, ours = both
    for window in [
        *windows_of(ours, random_questions(6)),
        ContextWindow([], ["w1"]),
        ContextWindow(["naïve"], ["w1"]),
    ]:
        one, other = (reader.backend.meeting(window) for reader in (ours, theirs))
        assert one.shape == (len(window.words), len(window.question))
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_answers_are_those_of_torch(both):
    theirs, ours = both
    pairs = random_questions(30)
    for one, other in zip(ours.predict(pairs), theirs.predict(pairs), strict=True):
        assert (one.text, one.start, one.end) == (other.text, other.start, other.end)
        assert one.score == pytest.approx(other.score, abs=1e-4)


words = st.lists(st.sampled_from([*WORDS[:8], "Unheard", "é"]), min_size=1, max_size=20)
questions = st.lists(st.sampled_from(WORDS[:5]), max_size=8)
windows = st.lists(st.builds(ContextWindow, questions, words), min_size=1, max_size=6)


@few
@given(windows)
def test_padding_and_company_never_change_a_score(small, some):
    """Neither in float32 nor in int8: alone, in any batch, in any order."""
    for reader, close in zip(small, (2e-5, 2e-5), strict=True):
        together = reader.backend.scores(some)
        backwards = reader.backend.scores(some[::-1])[::-1]
        for place, window in enumerate(some):
            (alone,) = reader.backend.scores([window])
            for other in (together[place], backwards[place]):
                np.testing.assert_allclose(alone.start, other.start, rtol=0, atol=close)
                np.testing.assert_allclose(alone.end, other.end, rtol=0, atol=close)


@hypothesis_settings(max_examples=5, deadline=None)
@given(windows)
def test_padding_never_changes_a_score_in_torch(both, some):
    theirs, _ = both
    together = theirs.backend.scores(some)
    for place, window in enumerate(some):
        (alone,) = theirs.backend.scores([window])
        np.testing.assert_allclose(alone.start, together[place].start, rtol=0, atol=2e-5)
        np.testing.assert_allclose(alone.end, together[place].end, rtol=0, atol=2e-5)


def test_int8_is_close(small):
    plain, quantised = small
    some = windows_of(plain, random_questions(40))
    pairs = zip(plain.backend.scores(some), quantised.backend.scores(some), strict=True)
    gaps = [np.abs(one.start - other.start).max() for one, other in pairs]
    spread = np.std(np.concatenate([each.start for each in plain.backend.scores(some)]))
    assert 0 < np.mean(gaps) < 0.2 * spread


def test_threads_change_nothing(small):
    some = windows_of(small[1], random_questions(60, longest=20))
    one, two = (
        load_reader(small[1].bundle, threads=threads).backend.scores(some) for threads in (1, 3)
    )
    for left, right in zip(one, two, strict=True):
        assert np.array_equal(left.start, right.start)
        assert np.array_equal(left.end, right.end)
