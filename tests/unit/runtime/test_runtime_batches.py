"""Answers do not depend on who stands beside them, in the batch or in other threads."""

import gc
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from small_bundles import random_pairs, sentence
from softquery.runtime import load

PAIRS = random_pairs(300, seed=8, longest=30)


@pytest.fixture(scope="module", params=["float32", "int8"])
def asked(request, float_bundle, int8_bundle):
    """A matcher, its answers one by one, and how far others may lie from them."""
    matcher = load({"float32": float_bundle, "int8": int8_bundle}[request.param])
    alone = np.concatenate([matcher.probabilities([pair]) for pair in PAIRS])
    return matcher, alone, 1e-4 if request.param == "float32" else 0.02


def check(found, alone, tolerance):
    assert np.abs(found - alone).max() <= tolerance
    agree = (found.argmax(axis=1) == alone.argmax(axis=1)).mean()
    assert agree == 1 if tolerance < 0.01 else agree >= 0.997


def test_company_changes_nothing(asked):
    matcher, alone, tolerance = asked
    check(matcher.probabilities(PAIRS), alone, tolerance)
    order = random.Random(1).sample(range(len(PAIRS)), len(PAIRS))
    check(matcher.probabilities([PAIRS[place] for place in order]), alone[order], tolerance)


def test_padding_changes_nothing(asked):
    matcher, alone, tolerance = asked
    long = sentence(random.Random(3), 400)
    padded = [matcher.probabilities([pair, (long, long)])[0] for pair in PAIRS[:40]]
    check(np.array(padded), alone[:40], tolerance)


def test_chunks_are_counted_from_the_first_pair(asked):
    matcher, _, _ = asked
    whole = matcher.probabilities(PAIRS)
    np.testing.assert_array_equal(matcher.probabilities(PAIRS), whole)
    np.testing.assert_array_equal(matcher.probabilities(PAIRS[:256]), whole[:256])
    np.testing.assert_array_equal(matcher.probabilities(PAIRS[256:]), whole[256:])


def test_many_threads_mixed_lengths(asked):
    """Eight threads, from 1 to 400 tokens, 1,600 pairs in all."""
    matcher, _, tolerance = asked
    draw = random.Random(9)
    lengths = [1, 2, 3, 5, 8, 13, 21, 40]
    pairs = [(sentence(draw, draw.choice(lengths)), sentence(draw, draw.choice(lengths)))
             for _ in range(196)]  # fmt: skip
    pairs += [(sentence(draw, 400), sentence(draw, 1)), (sentence(draw, 1), sentence(draw, 400)),
              (sentence(draw, 400), sentence(draw, 399)), ("w1", "w1")]  # fmt: skip
    alone = np.concatenate([matcher.probabilities([pair]) for pair in pairs])

    def work(seed):
        own = random.Random(seed)
        order = own.sample(range(len(pairs)), len(pairs))
        found = np.empty_like(alone)
        while order:
            take = own.choice([1, 3, 32, 64])
            places, order = order[:take], order[take:]
            found[places] = matcher.probabilities([pairs[place] for place in places])
        return found

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(work, range(8)):
            check(found, alone, tolerance)


def test_threads_that_rank_agree(asked):
    matcher, _, _ = asked
    documents = [second for _, second in PAIRS[:60]]
    wanted = {query: matcher.rank(query, documents) for query, _ in PAIRS[:8]}
    with ThreadPoolExecutor(8) as pool:
        for query, hits in zip(
            wanted, pool.map(lambda query: matcher.rank(query, documents), wanted), strict=True
        ):
            scores = {hit["corpus_id"]: hit["score"] for hit in hits}
            for hit in wanted[query]:
                assert scores[hit["corpus_id"]] == pytest.approx(hit["score"], abs=1e-6)


def test_weights_outlive_the_arrays_they_were_read_into(float_bundle):
    matcher = load(float_bundle)
    before = matcher.probabilities(PAIRS[:20])
    gc.collect()
    noise = [np.random.default_rng(n).normal(size=(512, 512)) for n in range(20)]
    np.testing.assert_array_equal(matcher.probabilities(PAIRS[:20]), before)
    assert len(noise) == 20


def test_threads_are_obeyed(float_bundle):
    for threads in (1, 3):
        backend = load(float_bundle, threads=threads).backend
        assert backend.threads == threads
        for session in backend._graphs.sessions.values():
            options = session.session.get_session_options()
            assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
            assert not options.enable_cpu_mem_arena  # it would keep what the largest call took


def test_int8_answers_do_not_depend_on_the_number_of_threads(int8_bundle):
    documents = [second for _, second in PAIRS[:100]]
    one, three = (load(int8_bundle, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.probabilities(PAIRS), three.probabilities(PAIRS))
    assert one.rank(PAIRS[0][0], documents) == three.rank(PAIRS[0][0], documents)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_one_thread_starts_no_others(float_bundle):
    code = (
        "import os, sys\n"
        "import onnxruntime, softquery\n"
        "before = len(os.listdir('/proc/self/task'))\n"  # the library has one of its own
        "matcher = softquery.load(sys.argv[1], threads=1)\n"
        "matcher.predict([('w1 w2', 'w3')] * 600)\n"
        "matcher.rank('w1', ['w2 w3'] * 300)\n"
        "print(before, len(os.listdir('/proc/self/task')))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TOKENIZERS_PARALLELISM"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(float_bundle)],
        capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    before, after = done.stdout.split()
    assert after == before


def test_memory_does_not_grow(float_bundle):
    """What a process holds after many rounds is what it held after a few."""
    resource = pytest.importorskip("resource")
    matcher = load(float_bundle, threads=1)

    def rounds(count):
        for seed in range(count):
            matcher.probabilities(random_pairs(64, seed=seed % 5, longest=40))
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = rounds(5)
    threading.Thread(target=rounds, args=(1,)).start()
    assert rounds(20) - before < 20_000  # KB; twenty rounds hold well over that in encodings
