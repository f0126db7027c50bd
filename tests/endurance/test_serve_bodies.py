"""Ten thousand mutated bodies against a running server: none gets a 5xx."""

import json
import random
from collections import Counter

from mutating import mutated
from serving import in_thread

from softquery.serve import Limits, Settings

MODELS = ("match-en", "nli-en", "match-zh", "elmo-en")
BODIES = 10_000
SEED = 1


def test_no_body_breaks_the_server():
    draw, statuses, broken = random.Random(SEED), Counter(), []
    limits = Limits(max_body=200_000, max_text=2_000, max_texts=100)
    with in_thread(Settings(models=MODELS, limits=limits)) as client:
        for _ in range(BODIES):
            path, body = mutated(draw)
            reply = client.ask(path, body)
            statuses[reply.status] += 1
            json.loads(reply.body)
            if reply.status >= 500:
                broken.append((reply.status, path, body))
    assert not broken
    assert set(statuses) > {200, 400}, f"too much alike: {dict(statuses)}"
