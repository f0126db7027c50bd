"""The rank of true lower lines: how well they fit, not how common they are."""

import numpy as np
import pytest

from softquery.files import Row
from softquery.runtime.generate.evaluate import GenerateEvaluation
from softquery.runtime.generate.request import GenerateRequest

LINES = [f"{first}{second}" for first in "春夏秋冬" for second in "山水云"]


class Poet:
    """Finds some lines likely everywhere, and every line a little likelier after its own upper."""

    def __init__(self, gain):
        self.gain = gain

    def log_likelihoods(self, sources, targets):
        places = [LINES.index(target) for target in targets]
        own = [LINES.index(source) == place for source, place in zip(sources, places, strict=True)]
        return -5.0 + 0.3 * np.array(places) + self.gain * np.array(own), np.full(len(places), 3)


def ranked(gain):
    poet = Poet(gain)
    likelihoods, num_tokens = poet.log_likelihoods(LINES, LINES)
    rows = [Row({"source": line, "target": line}, n, "couplets") for n, line in enumerate(LINES)]
    evaluation = GenerateEvaluation(
        generator=poet,
        rows=rows,
        request=GenerateRequest(),
        answers=[],
        log_likelihoods=likelihoods,
        num_tokens=num_tokens,
    )
    return evaluation._ranked(LINES)


def test_a_line_is_ranked_by_how_much_likelier_it_is_after_its_own_upper_line():
    found = ranked(gain=1.0)
    assert found["num_ranked"] == len(LINES)
    assert found["ranked_first"] == 1.0
    assert found["ranked_first_by_likelihood"] < 0.5


def test_a_model_that_sees_no_difference_ranks_no_line_first():
    found = ranked(gain=-0.1)
    assert found["ranked_first"] == 0.0
    assert found["mean_reciprocal_rank"] == pytest.approx(0.1)
