"""Tune an index while the process is killed at a chosen step; run in a process of its own.

    python killed_tuning.py MODEL FOLDER SEED COUNT

As `killed.py`: every run is a fork that is killed at a random call to the file system, and one line
of JSON a run says what is there afterwards.
"""

import json
import os
import random
import shutil
import signal
import sys
import traceback
from pathlib import Path

from killed import EVENTS, import_everything

QUERY = "w83 w93 w73 w30"


def work(place: Path) -> None:
    """Tune, go back, and tune again."""
    from small_tuning import labelled_queries
    from softquery.search import Index

    index = Index.open(place, threads=1)
    index.tune(labelled_queries(each=2), force=True)
    index.untune()
    index.tune(labelled_queries(each=2), force=True)


def killed_at(step: int, place: Path) -> int:
    """Do all of it in a fork that dies at a step; how many there are, if it does not die."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        left = step

        def hook(event: str, arguments: tuple) -> None:
            nonlocal left
            if event.startswith(EVENTS) and str(place) in str(arguments):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(hook)
            work(place)
            os.write(writing, str(step - left).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(9)
    os.close(writing)
    counted = os.read(reading, 64)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a run failed by itself")
    return int(counted or 0)


def found(place: Path) -> dict:
    """What another process finds, and that it can change the index."""
    from softquery.search import Index

    index = Index.open(place, threads=1)
    tuning = index.tuning
    hits = index.find(QUERY, min_score=0.0).hits
    index.add([{"id": "new", "question": "w1 w2"}])
    left = sorted(path.name for path in (place / "tunings").glob("*")) if tuning else []
    return {
        "tuned": tuning is not None,
        "scores": [round(hit["score"], 6) for hit in hits],
        "left": left == ([index.manifest.tuning.name] if index.manifest.tuning else []),
    }


def main() -> None:
    model, folder, seed, count = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    import_everything()
    from small_tuning import ROWS
    from softquery.search import Index, IndexSettings

    os.fsync = lambda descriptor: None
    settings = IndexSettings(vectors="words")
    Index.build(ROWS, folder / "plain.sq", model=model, settings=settings, threads=1)
    draw, num_steps = random.Random(seed), 0
    print(json.dumps(found(shutil.copytree(folder / "plain.sq", folder / "untouched.sq"))))
    for number in range(count):
        place = shutil.copytree(folder / "plain.sq", folder / f"{number}.sq")
        step = draw.randint(1, num_steps) if number else 10**9
        counted = killed_at(step, place)
        num_steps = num_steps or counted
        print(json.dumps({"step": step, "was_killed": not counted, **found(place)}))


if __name__ == "__main__":
    main()
