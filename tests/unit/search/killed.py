"""Change an index while the process is killed at a chosen step; run in a process of its own.

    python killed.py MODEL FOLDER SEED COUNT

Every run is a fork that counts what it asks of the file system and is killed, as by `kill -9`, at a
random step. One line of JSON a run says what was promised before, and what is there afterwards.
"""

import importlib
import json
import os
import random
import signal
import sys
import traceback
from pathlib import Path

EVENTS = ("open", "os.", "shutil.")
"""The calls that count as steps: all that open, rename, make or remove something."""


def rows(first: int, last: int, answer: str = "") -> list[dict[str, str]]:
    return [
        {
            "id": f"r{n}",
            "question": f"w{n} w{n + 1} w{n + 2}",
            "answer": answer or f"a{n}",
            "phrasings": f"p{n} w{n}",  # which is stored beside it
        }
        for n in range(first, last)
    ]


def steps(place: Path, model: str) -> list:
    """The changes, one after the other; each but the first is all or nothing."""
    from softquery.search import Index
    from softquery.search.changes import building

    building.COMMIT_ROWS = 8  # four rows, each with its phrasing

    def opened() -> Index:
        return Index.open(place, threads=1)

    return [
        lambda: Index.build(rows(0, 10), place, model=model, threads=1),
        lambda: opened().add(rows(10, 14)),
        lambda: opened().add(rows(8, 12, "changed")),
        lambda: opened().delete(["r1", "r9", "r13"]),
        lambda: opened().compact(),
        lambda: Index.rebuild(place, vectors="words", threads=1),
        lambda: opened().add(rows(20, 21)),
    ]


def states() -> list[dict[str, str]]:
    """The contents after each commit; the first indexing makes three."""
    table: dict[str, str] = {}
    found = []

    def put(*changed: dict[str, str]) -> None:
        table.update({row["id"]: row["answer"] for row in changed})
        found.append(dict(table))

    put()
    for end in (4, 8, 10):
        put(*rows(0, end))
    put(*rows(10, 14))
    put(*rows(8, 12, "changed"))
    for key in ("r1", "r9", "r13"):
        del table[key]
    put()
    put(*rows(20, 21))
    return found


LEAST = (0, 3, 4, 5, 6, 6, 6, 7)
"""The state that must have been reached after so many steps."""


def killed_at(step: int, place: Path, model: str) -> tuple[int, int]:
    """Make all changes in a fork that dies at a chosen step of the file system.

    How much it had done, and where it was not killed how many such steps there are.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        left = step

        def hook(event: str, arguments: tuple) -> None:
            nonlocal left
            if event.startswith(EVENTS) and str(place.parent) in str(arguments):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            planned = steps(place, model)
            sys.addaudithook(hook)
            for each in planned:
                each()
                os.write(writing, b".")
            os.write(writing, str(step - left).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(9)
    os.close(writing)
    done = b""
    while part := os.read(reading, 64):
        done += part
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a run failed by itself")
    return done.count(b"."), int(done.lstrip(b".") or 0)


def inspected(place: Path, model: str, *, finish: bool) -> dict:
    """What another process finds; if asked to, it first makes all changes once more."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            from softquery.search import Index, is_index
            from softquery.search.storage.manifest import read_manifest

            if finish:
                if not is_index(place) or read_manifest(place).unfinished:
                    Index.build(rows(0, 10), place, model=model, threads=1)
                for each in steps(place, model)[1:3]:
                    each()
            if not place.exists():
                answer = {"missing": True}
            else:
                index = Index.open(place, threads=1)
                found = {row["id"]: row["answer"] for row in index.rows()}
                hits = {
                    row["id"]
                    for row in index.rows()
                    for hit in index.search(row["question"], top_k=50, min_score=0.0)
                    if hit["id"] == row["id"]
                }
                answer = {"rows": found, "hits": sorted(hits)}
            os.write(writing, json.dumps(answer).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(9)
    os.close(writing)
    content = b""
    while part := os.read(reading, 65536):
        content += part
    os.close(reading)
    os.waitpid(child, 0)
    return json.loads(content) if content else {"failed": True}


def import_everything() -> None:
    """Import once, before any fork; this starts no thread. usearch must come after ONNX Runtime."""
    for name in ("softquery.runtime.match.onnx", "softquery.search", "bm25s", "usearch.index"):
        importlib.import_module(name)


def main() -> None:
    model, folder, seed, count = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    import_everything()
    os.fsync = lambda descriptor: None  # what is written outlives a process, if not the power
    draw = random.Random(seed)
    num_steps = 0
    for number in range(count):
        place = folder / f"{number}" / "faq.sq"
        place.parent.mkdir()
        step = draw.randint(1, num_steps) if number else 10**9
        done, counted = killed_at(step, place, model)
        num_steps = num_steps or counted
        state = inspected(place, model, finish=False)
        after = inspected(place, model, finish=True)
        print(json.dumps({"step": step, "done": done, "state": state, "after": after}))


if __name__ == "__main__":
    main()
