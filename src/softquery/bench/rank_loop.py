"""The same rankings without a server: `python -m softquery.bench.rank_loop '{"model": …}'`.

Threads call `Matcher.rank` as fast as they can. What a server adds is measured against this.
"""

import json
import sys
import threading
import time
from typing import Any

from softquery.bench.load_test import rankings
from softquery.runtime import load_matcher


def rank_loop(*, model: str, threads: int, seconds: float, num_texts: int) -> dict[str, Any]:
    """Rankings a second, of all threads together."""
    matcher = load_matcher(model, backend="onnx", threads=1)
    asked = rankings(num_texts)
    counts = [0] * threads
    began = time.perf_counter()
    end = began + seconds

    def work(number: int) -> None:
        place = number
        while time.perf_counter() < end:
            each = asked[place % len(asked)]
            matcher.rank(each["query"], each["texts"])
            counts[number] += 1
            place += threads

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"per_second": sum(counts) / (time.perf_counter() - began)}


if __name__ == "__main__":
    print(json.dumps(rank_loop(**json.loads(sys.argv[1]))))
