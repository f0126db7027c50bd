"""Forge index folders at random and use each in a fork; run in a process of its own.

    python hostile_indexes.py MODEL FOLDER SEED COUNT

A sound index is copied, one to three things in it are forged, sizes and checksums are mostly made
right again, and a fork does with it what users do: search, add, delete, compact, sometimes serve.
Beside each index lies a tree that nobody may touch. One line of JSON a folder says how it was
forged, how every command ended, and what was touched.
"""

import contextlib
import importlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from index_forging import seal, segment_folders, tree, write_canaries

LIMIT = 120
"""Seconds after which a fork counts as stuck."""
EXACT_ROWS = 60
"""Segments with more rows than this have a graph here."""
SEALED, SERVED = 0.9, 0.2
"""The shares of the folders whose checksums are made right, and which are served."""
NESTED: list[Any] = []
for _ in range(60):
    NESTED = [NESTED]
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 2**31, 2**32, 2**63, 10**30, -(10**30), 0.5, 1e308, -1e-320,
    float("nan"), float("inf"), "", " ", "\0", "a\0b", ".", "..", "../..", "../../outside",
    "../../outside/profile", "/dev/zero", "/dev/stdin", "/proc/self/mem", "x" * 300, "x" * 10**6,
    "\ud800", "\x1b[31m\u202e", "deleted-1.bin", "cells.bin", "000001-0123abcd", "none", "int8",
    "float16", "words", "match-en", [], {}, [None], ["id"], ["id", "question"], [1, "a"], {"a": 1},
    NESTED, [[]] * 1000,
]  # fmt: skip
DTYPES = {
    "cell_ends.bin": np.int64, "word_starts.bin": np.int64, "encoding_ends.bin": np.int64,
    "word_rows.bin": np.int32, "words.bin": np.float32, "encoding_scales.bin": np.float32,
    "vectors.bin": np.float16, "encodings.bin": np.int8, "vectors.usearch": np.uint8,
    "cells.bin": np.uint8,
}  # fmt: skip


class Forger:
    """Forges one index.

    Args:
        index: Its folder.
        outside: A tree that is none of its business.
        seed: Of all choices.
    """

    def __init__(self, index: Path, outside: Path, seed: str) -> None:
        self.index, self.outside, self.draw = index, outside, random.Random(seed)

    def forge(self) -> str:
        """Change one thing, and say what."""
        kind = self.draw.choice([self.in_json, self.in_bytes, self.in_numbers, self.in_folder])
        return kind()

    def files(self) -> list[Path]:
        return sorted(
            path for path in self.index.rglob("*") if path.is_file() and not path.is_symlink()
        )

    def in_json(self) -> str:
        """Another value somewhere in a JSON file."""
        paths = [path for path in self.files() if path.suffix == ".json"]
        path = self.draw.choice(paths)
        try:
            data = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return self.in_bytes()
        holder, key = self.draw.choice([(None, None), *_places(data)])
        value = self.draw.choice(VALUES)
        how = self.draw.choice(["replace", "replace", "replace", "remove", "add"])
        if holder is None:
            data = value
        elif how == "remove":
            del holder[key]
        elif how == "add" and isinstance(holder, dict):
            holder[self.draw.choice(["extra", "name", "/dev/zero", "../x", "vectors.usearch"])] = (
                value
            )
        else:
            holder[key] = value
        path.write_text(json.dumps(data), encoding="utf-8")
        return f"{path.name}: {how} {key} {value!r:.40}"

    def in_bytes(self) -> str:
        """Other bytes in a file."""
        path = self.draw.choice(self.files())
        content = bytearray(path.read_bytes())
        how = self.draw.choice(["flip", "flip", "empty", "half", "0xff", "zeros", "noise", "grow",
                                "cut", "other", "nested", "sparse"])  # fmt: skip
        if how == "flip":
            for _ in range(self.draw.choice([1, 5, 100, 5000]) if content else 0):
                content[self.draw.randrange(len(content))] ^= 1 << self.draw.randrange(8)
        elif how == "sparse":
            os.truncate(path, len(content) + (64 << 20))
            return f"{path.name}: {how}"
        elif how == "other":
            content = bytearray(self.draw.choice(self.files()).read_bytes())
        else:
            size = len(content)
            content = bytearray({
                "empty": b"", "half": bytes(content[: size // 2]), "0xff": b"\xff" * size,
                "zeros": bytes(size), "noise": self.draw.randbytes(size),
                "grow": bytes(content) + self.draw.randbytes(self.draw.choice([1, 8, 4096])),
                "cut": bytes(content[: self.draw.randrange(size + 1)]), "nested": b"[" * 200_000,
            }[how])  # fmt: skip
        path.write_bytes(content)
        return f"{path.name}: {how}"

    def in_numbers(self) -> str:
        """Another number in a file of numbers."""
        path = self.draw.choice([path for path in self.files() if path.name in DTYPES] or [None])
        if path is None:
            return self.in_bytes()
        dtype = np.dtype(DTYPES[path.name])
        numbers = np.frombuffer(path.read_bytes()[: path.stat().st_size // dtype.itemsize
                                                  * dtype.itemsize], dtype).copy()  # fmt: skip
        for _ in range(self.draw.choice([1, 3, 50]) if len(numbers) else 0):
            place = self.draw.randrange(len(numbers))
            if dtype.kind == "f":
                numbers[place] = self.draw.choice([np.nan, np.inf, -np.inf, 0, 6e4, -1])
            else:
                limits = np.iinfo(dtype)
                near = int(numbers[place]) + self.draw.choice([-1, 1, -7, 7])
                chosen = self.draw.choice([limits.min, limits.max, 0, near, near])
                numbers[place] = min(max(chosen, limits.min), limits.max)
        path.write_bytes(numbers.tobytes())
        return f"{path.name}: numbers"

    def in_folder(self) -> str:
        """A link, a pipe or a folder where a file was, or something that should not be there."""
        folders = [self.index, self.index / "segments", *segment_folders(self.index)]
        everything = [*self.files(), *folders]
        path = self.draw.choice(everything)
        how = self.draw.choice(["link", "link", "dangling", "pipe", "folder", "remove", "plant"])
        if how == "plant":
            place = self.draw.choice(folders)
            name = self.draw.choice([
                *(f"deleted-{number}.bin" for number in range(1, 9)), "000009-0123abcd",
                ".manifest.json.0123456789abcdef.tmp", ".000009-0123abcd.0123456789abcdef.tmp",
                "vectors.usearch", "lock", "notes",
            ])  # fmt: skip
            if not os.path.lexists(place / name):
                target = self.draw.choice([self.outside, self.outside / "profile",
                                           self.outside / "new"])  # fmt: skip
                (place / name).symlink_to(target)
            return f"{place.name}/{name}: planted link"
        is_folder = path.is_dir() and not path.is_symlink()
        if how == "link":
            # What the link leads to looks as before, so that only the link itself tells.
            target = self.outside / f"moved-{path.name}-{self.draw.getrandbits(32):x}"
            (shutil.copytree if is_folder else shutil.copy)(path, target)
            _remove(path)
            path.symlink_to(target)
            return f"{path.name}: link"
        _remove(path)
        if how == "dangling":
            path.symlink_to(self.outside / "new")
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "folder":
            path.mkdir()
        return f"{path.name}: {how}"


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON document, as what holds it and the key there."""
    keys = data.keys() if isinstance(data, dict) else range(min(len(data), 40))
    if not isinstance(data, (dict, list)):
        return []
    found = []
    for key in list(keys):
        found.append((data, key))
        if isinstance(data[key], (dict, list)):
            found += _places(data[key])
    return found


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def commands(index: Path, more: Path) -> list[list[str]]:
    """What users do with an index."""
    place = str(index)
    return [
        ["search", place, "w1 w41 w81", "--min-score", "0", "--top", "50"],
        ["search", place, "w2", "--where", "kind=even", "--json", "--min-score", "0"],
        ["index", "--output", place],
        ["index", str(more), "--output", place, "--add"],
        ["index", "--output", place, "--delete", "r3"],
        ["index", "--output", place, "--delete", "no such row"],
        ["index", "--output", place, "--min-score", "0.2"],
        ["index", "--output", place, "--compact"],
        ["search", place, "w1 w41 w81", "--min-score", "0"],
    ]


def run(words: list[str]) -> dict[str, Any]:
    """One command as a user types it: its exit code, and what is wrong with how it ended."""
    from softquery.cli import main

    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["softquery", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            return {"words": words, "code": 1, "line": "", "fault": traceback.format_exc()[-1500:]}
    told = err.getvalue()
    lines = [line for line in told.splitlines() if line.startswith("softquery: ")]
    is_clear = code == 0 or (code == 2 and len(lines) == 1 and told.splitlines()[-1] == lines[0])
    fault = "" if is_clear and "Traceback" not in told else told[-1500:] or f"code {code}"
    return {"words": words, "code": code, "line": (lines or [""])[0][:200], "fault": fault}


def serve(index: Path) -> dict[str, Any]:
    """Serve an index and search it over HTTP."""
    from starlette.testclient import TestClient

    from softquery.errors import SoftqueryError
    from softquery.serve import Settings, build_app

    result: dict[str, Any] = {"words": ["serve"], "code": 0, "line": "", "fault": ""}
    try:
        app = build_app(Settings(indexes=(f"faq={index}",), threads=1))
    except SoftqueryError as error:
        line = str(error)
        return {**result, "code": 2, "line": line[:200], "fault": line if "\n" in line else ""}
    except BaseException:
        return {**result, "code": 1, "fault": traceback.format_exc()[-1500:]}
    with TestClient(app) as client:
        for query in ("w1 w41 w81", "w2", "?"):
            body = {"query": query, "top_k": 20, "min_score": 0.0, "explain": True}
            reply = client.post("/v1/search", json=body)
            if reply.status_code >= 500:
                result["fault"] = f"{reply.status_code}: {reply.text[:500]}"
    return result


def used(index: Path, more: Path, *, is_served: bool) -> tuple[str, list[dict[str, Any]]]:
    """Use an index in a fork: how the fork ended, and how every command did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(LIMIT)
        with os.fdopen(writing, "w") as pipe, open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
            steps = [lambda words=words: run(words) for words in commands(index, more)]
            if is_served:
                steps.insert(0, lambda: serve(index))
            for step in steps:
                pipe.write(json.dumps(step()) + "\n")
                pipe.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = [json.loads(line) for line in pipe]
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)} after {len(told)} commands", told
    return "" if status == 0 else f"exit {os.WEXITSTATUS(status)}", told


def build(folder: Path, model: str) -> list[Path]:
    """The sound indexes, one per precision, with two segments, a graph and deleted rows."""
    made = [folder / f"{precision}.sq" for precision in ("int8", "float16", "none")]
    child = os.fork()
    if child == 0:
        from softquery.search import Index, IndexSettings

        for place in made:
            settings = IndexSettings(encodings=place.stem, min_score=0.0)  # type: ignore[arg-type]
            index = Index.build(rows(0, 80), place, model=model, settings=settings, threads=1)
            index.add(rows(100, 106))
            index.delete(["r1", "r102"])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit("the sound indexes could not be built")
    return made


def rows(first: int, last: int) -> list[dict[str, str]]:
    return [
        {"id": f"r{n}", "question": f"w{n % 120} w{(n + 40) % 120} w{(n + 80) % 120} é",
         "answer": f"answer {n}", "kind": "odd" if n % 2 else "even"}
        for n in range(first, last)
    ]  # fmt: skip


def import_everything() -> None:
    """Import once, before any fork; this starts no thread. usearch must come after ONNX Runtime."""
    for name in ("softquery.runtime.match.onnx", "softquery.cli", "softquery.search", "bm25s",
                 "usearch.index", "softquery.explain.write", "starlette.testclient",
                 "softquery.serve.app"):  # fmt: skip
        importlib.import_module(name)
    importlib.import_module("softquery.search.storage.vector_recall").EXACT_ROWS = EXACT_ROWS
    os.fsync = lambda descriptor: None


def attack(sound: list[Path], place: Path, more: Path, seed: str) -> dict[str, Any]:
    """Forge one index, use it, and tell what happened."""
    draw = random.Random(seed)
    outside, index = write_canaries(place / "outside"), place / "box" / "faq.sq"
    index.parent.mkdir(parents=True)
    shutil.copytree(draw.choice(sound), index)
    forger = Forger(index, outside, seed)
    forged = [forger.forge()]
    with contextlib.suppress(OSError, IndexError):  # a link may have taken the rest away
        forged += [forger.forge() for _ in range(draw.choice([0, 0, 1, 2]))]
    if draw.random() < SEALED and not index.is_symlink() and index.is_dir():
        seal(index)
    before = tree(outside)
    ended, told = used(index, more, is_served=draw.random() < SERVED)
    touched = tree(outside) != before or os.listdir(index.parent) not in ([], ["faq.sq"])
    faults = [each for each in told if each["fault"]]
    return {
        "seed": seed,
        "forged": forged,
        "ended": ended,
        "touched": touched,
        "codes": [each["code"] for each in told],
        "line": told[0]["line"] if told else "",
        "served": bool(told) and told[0]["words"] == ["serve"],
        "faults": faults,
    }


def read_outcomes(model: Path, folder: Path, *, seed: int, count: int) -> list[dict[str, Any]]:
    """Run this file in a process of its own, and return what it told of every folder."""
    command = [sys.executable, __file__, str(model), str(folder), str(seed), str(count)]
    result = subprocess.run(command, capture_output=True, text=True)
    outcomes = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0, result.stderr
    assert len(outcomes) == count
    return outcomes


def main() -> None:
    model, folder, seed, count = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    import_everything()
    sound = build(folder, model)
    more = folder / "more.jsonl"
    more.write_text("".join(json.dumps(row) + "\n" for row in rows(4, 6) + rows(300, 304)))
    for number in range(count):
        place = folder / str(number)
        place.mkdir()
        print(json.dumps(attack(sound, place, more, f"{seed}.{number}")), flush=True)
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
