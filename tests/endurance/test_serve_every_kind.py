"""All shipped models in one server: its OpenAPI document is true, and no body breaks it."""

import json
import random
import re
from collections import Counter

import pytest
from mutating import SEEDS, TASKS, mutated
from serving import in_thread
from test_serve_document import SETTINGS, run_schemathesis

from softquery.serve import Limits, Settings
from softquery.zoo import shipped

BODIES = 5_000
SEED = 1
EVERY_KIND = (
    SETTINGS
    + """
[[operations]]
include-path = ["/", "/models/{name}"]
# Which parameters a model takes, and that a generator needs a text, a schema cannot say.
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = [
    "/v1/generate", "/pipeline/translation", "/pipeline/summarization", "/pipeline/text-generation"
]
checks.positive_data_acceptance.enabled = false
"""
)


@pytest.fixture(scope="module")
def every():
    limits = Limits(max_body=200_000, max_text=2_000, max_texts=100)
    with in_thread(
        Settings(models=tuple(each.name for each in shipped()), limits=limits)
    ) as client:
        yield client


def test_schemathesis_finds_nothing(every, tmp_path):
    result = run_schemathesis(every.url, tmp_path, "--phases=coverage,fuzzing", settings=EVERY_KIND)
    assert result.returncode == 0, re.sub(r"(.)\1{30,}", r"\1…", result.stdout)[-6000:]


def test_no_body_breaks_the_server(every):
    draw, statuses = random.Random(SEED), Counter()
    for _ in range(BODIES):
        path, body = mutated(draw, [*TASKS, *SEEDS])
        reply = every.ask(path, body)
        statuses[reply.status] += 1
        json.loads(reply.body)
        assert reply.status < 500, (path, body, reply.body)
    assert set(statuses) > {200, 400, 422}, f"too much alike: {dict(statuses)}"
