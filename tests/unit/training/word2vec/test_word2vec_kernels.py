"""The small parts of the CPU engine."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU engine needs the extra [train]")

from softquery.training.word2vec import kernels
from softquery.training.word2vec.numba_engine import aligned
from softquery.training.word2vec.tables import alias_table, noise_chances


def test_the_sigmoid_is_one():
    x = np.linspace(-5.99, 5.99, 4001).astype(np.float32)
    found = np.array([kernels.sigmoid(value) for value in x])
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-x.astype(np.float64))), atol=3e-7)
    assert [kernels.sigmoid(np.float32(v)) for v in (-6, -1e30, 6, 1e30)] == [0, 0, 1, 1]


def test_noise_is_drawn_by_its_distribution():
    counts = np.array([1000, 300, 50, 5, 1])
    chances = noise_chances(counts, 0.75)
    own, other = alias_table(chances)
    bits = np.round(own * 2.0**40).astype(np.uint64)
    state, found = np.uint64(99), np.zeros(5)
    for _ in range(20_000):
        state = np.uint64(kernels.next_state(state))
        found[kernels.draw_noise(state, bits, other)] += 1
    deviation = np.abs(found - 20_000 * chances) / np.sqrt(20_000 * chances)
    assert deviation.max() < 4


@pytest.mark.parametrize("length", [2, 3, 4, 5, 8, 64, 81, 1000, 4096, 20_000])
def test_leaps_visit_every_place_once(length):
    leap = kernels.leap_of(length)
    assert sorted((leap * visit) % length for visit in range(length)) == list(range(length))
    if length > 100:
        assert min(leap % length, length - leap % length) > length // 4


def test_thinning_keeps_the_ends_of_sentences():
    ids = np.array([0, 1, -1, 1, 0, -1], dtype=np.int32)
    keep = np.array([0, 2**40], dtype=np.uint64)
    text = np.zeros(8, dtype=np.int32)
    length, _ = kernels.thin_out(ids, keep, np.uint64(1), text)
    assert text[:length].tolist() == [-1, 1, -1, 1, -1, -1]


def test_a_window_stops_at_the_sentence():
    text = np.array([-1, 1, 2, 3, 4, -1, 5, -1], dtype=np.int32)
    context = np.zeros(10, dtype=np.int32)
    assert kernels.look_around(text, 2, 5, context) == 3
    assert context[:3].tolist() == [1, 3, 4]
    assert kernels.look_around(text, 3, 1, context) == 2
    assert context[:2].tolist() == [2, 4]
    assert kernels.look_around(text, 6, 5, context) == 0


def test_rows_begin_at_cache_lines():
    for shape in ((3, 16), (5, 112), (7,)):
        made = aligned(shape)
        assert (made.shape, made.ctypes.data % 64, made.any()) == (shape, 0, False)
