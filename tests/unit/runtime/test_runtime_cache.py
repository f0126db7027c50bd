"""The encodings that were used last."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from small_bundles import WORDS
from softquery.runtime import load
from softquery.runtime.match.model import EncodingCache, Matcher, kept_bytes


def vector(number):
    return np.full(3, number, dtype=np.float32)


ONE = kept_bytes((1,), vector(1))
"""What one of these takes."""


def test_the_one_unused_for_longest_goes():
    cache = EncodingCache(2 * ONE)
    cache.put((1,), vector(1))
    cache.put((2,), vector(2))
    assert cache.get((1,)) is not None  # now (2,) is the older one
    cache.put((3,), vector(3))
    assert cache.get((2,)) is None
    assert [cache.get(key)[0] for key in ((1,), (3,))] == [1, 3]
    assert len(cache) == 2


def test_putting_again_renews():
    cache = EncodingCache(2 * ONE)
    for number in (1, 2, 1, 3):
        cache.put((number,), vector(number))
    assert cache.get((2,)) is None
    assert cache.get((1,)) is not None


def test_an_empty_encoding_is_kept_and_counts_as_well():
    cache = EncodingCache(ONE)
    cache.put((), np.empty((0, 4), dtype=np.float32))
    assert cache.get(()) is not None
    assert cache.num_bytes > 0


def test_memory_is_the_bound():
    cache = EncodingCache(3 * ONE)
    for number in (1, 2, 3, 3, 4):
        cache.put((number,), vector(number))
    kept = [cache.get((number,)) is not None for number in (1, 2, 3, 4)]
    assert kept == [False, True, True, True]
    assert cache.num_bytes == 3 * ONE
    cache.put((5, 6), np.zeros(10, dtype=np.float32))  # as large as two of them, or nearly
    assert cache.get((5, 6)) is not None
    assert cache.num_bytes <= 3 * ONE
    assert len(cache) == 2


def test_one_that_never_fits_leaves_the_others():
    cache = EncodingCache(2 * ONE)
    cache.put((1,), vector(1))
    cache.put((2,), np.zeros(1000, dtype=np.float32))
    assert cache.get((2,)) is None
    assert cache.get((1,)) is not None


def test_a_wider_encoding_leaves_room_for_fewer():
    counts = []
    for width in (600, 1200):
        cache = EncodingCache(1_000_000)
        for number in range(100):
            cache.put((number,), np.zeros((12, width), dtype=np.float32))
        counts.append(len(cache))
    assert counts == [34, 17]


def test_no_room_keeps_nothing():
    cache = EncodingCache(0)
    cache.put((1,), vector(1))
    assert cache.get((1,)) is None
    assert len(cache) == 0


def test_many_threads_never_see_another_sentence():
    cache = EncodingCache(50 * ONE)

    def work(seed):
        draw = np.random.default_rng(seed)
        wrong = 0
        for number in draw.integers(0, 200, 3000).tolist():
            found = cache.get((number,))
            if found is None:
                cache.put((number,), vector(number))
            else:
                wrong += found[0] != number
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [0] * 8
    assert len(cache) == 50
    assert cache.num_bytes == 50 * ONE


class Counting:
    """A backend that counts what it encodes."""

    def __init__(self, backend):
        self.backend, self.seen = backend, []

    def encode(self, sentences):
        self.seen += sentences
        return self.backend.encode(sentences)

    def compare(self, first, second):
        return self.backend.compare(first, second)


def test_a_matcher_encodes_what_it_keeps_once(float_bundle):
    loaded = load(float_bundle)
    counting = Counting(loaded.backend)
    four = [kept_bytes((1,), each) for each in loaded.encodings(WORDS[:4])]
    matcher = Matcher(loaded.bundle, counting, cache_bytes=sum(four))
    matcher.rank(WORDS[0], WORDS[1:4])
    matcher.rank(WORDS[0], WORDS[1:4])
    assert len(counting.seen) == 4
    matcher.encodings([WORDS[9]])
    matcher.encodings([WORDS[2]])
    assert len(counting.seen) == 5
