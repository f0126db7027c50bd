"""Ten thousand mutated bodies against a running server: none may get a 5xx.

python benchmarks/serve_bodies.py [--count 10000] [--seed 1]
"""

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "end_to_end" / "serve"))

from mutating import mutated  # noqa: E402
from serving import in_thread  # noqa: E402

from softquery.serve import Limits, Settings  # noqa: E402

MODELS = ("match-en", "nli-en", "match-zh", "elmo-en")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, statuses = random.Random(options.seed), Counter()
    limits = Limits(max_body=200_000, max_text=2_000, max_texts=100)
    with in_thread(Settings(models=MODELS, limits=limits)) as client:
        for _ in range(options.count):
            path, body = mutated(draw)
            reply = client.ask(path, body)
            statuses[reply.status] += 1
            json.loads(reply.body)
            if reply.status >= 500:
                print(f"{reply.status} at {path}: {body!r}")
    print(json.dumps({"seed": options.seed, **dict(sorted(statuses.items()))}))
    sys.exit(any(status >= 500 for status in statuses))


if __name__ == "__main__":
    main()
