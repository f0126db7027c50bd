"""Bulk matching by Ray's two actors beside two bare processes, and their output beside one's.

    python benchmarks scale ray_bulk DATA [--pairs 2000000] [--as-they-are] [--rounds 3] [--alone]
                                          [--kills 5] [--work FOLDER] [--output FILE.json]

Pairs are crossed from sentences of `snli_100k`, train: short ones, or any as they are. In every
round two bare processes answer half of the pairs each, and Ray answers all of them; which goes
first alternates. Both are whole commands, from their start to their end. CPU seconds are those of
all processes that a command started, Ray's own included. With `--alone` a single process answers
all pairs, too, and every output is compared with its own. With `--kills`, a last run of Ray loses
so many of its workers to SIGKILL. The memory of that, or of the last round, is sampled all along.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softquery.files import find_split, read_rows

MARK = "SOFTQUERY_SCALE_RUN"
"""An environment variable by which the processes of a command are known."""
FEWEST_WORDS, MOST_WORDS = 2, 4
EVERY = 1.0
"""Seconds between two looks at the processes."""
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
ACTOR = "ShardActor"


def short_sentences(data: Path, count: int) -> list[str]:
    """Distinct short sentences, drawn by a seed."""
    return drawn(data, "sentence2", count, lambda words: FEWEST_WORDS <= words <= MOST_WORDS)


def drawn(data: Path, column: str, count: int, fits: Callable[[int], bool]) -> list[str]:
    """Distinct sentences of a column with fitting numbers of words, drawn by a seed."""
    path = find_split(data / "pairs" / "snli_100k", "train")
    rows = read_rows(path, columns=("sentence1", "sentence2"))
    texts = (row.values[column] for row in rows)
    found = dict.fromkeys(text for text in texts if fits(len(text.split())))
    return random.Random(1).sample(list(found), count)


def write_pairs(data: Path, count: int, folder: Path, *, as_they_are: bool = False) -> Path:
    """All pairs in one file, and its halves in two."""
    side = int((count / 2) ** 0.5) + 1
    if as_they_are:
        first = drawn(data, "sentence1", side, bool)
        second = drawn(data, "sentence2", 2 * side, bool)
    else:
        texts = short_sentences(data, 3 * side)
        first, second = texts[:side], texts[side:]
    lines = [f"{first[n % side]}\t{second[n // side]}\n" for n in range(count)]
    random.Random(2).shuffle(lines)
    head = "sentence1\tsentence2\n"
    half = count // 2 // 8192 * 8192
    for name, some in (("all", lines), ("half-1", lines[:half]), ("half-2", lines[half:])):
        (folder / f"{name}.tsv").write_text(head + "".join(some), encoding="utf-8")
    return folder / "all.tsv"


class Watch:
    """The CPU seconds and the memory of all processes of a command.

    Args:
        mark: Their environment's.
    """

    def __init__(self, mark: str) -> None:
        self.mark = f"{MARK}={mark}".encode()
        self.cpu: dict[int, float] = {}
        self.memory: list[dict[str, Any]] = []
        self.actors: dict[int, float] = {}
        """Actors that are alive, by the CPU seconds that they have used."""
        self._strangers: set[int] = set()
        self._done = threading.Event()

    def look(self, began: float) -> None:
        """Look once."""
        kinds: dict[str, float] = {"driver": 0.0, "actors": 0.0, "ray": 0.0}
        alive: dict[int, float] = {}
        for place in Path("/proc").iterdir():
            if not place.name.isdigit() or (number := int(place.name)) in self._strangers:
                continue
            try:
                if number not in self.cpu and self.mark not in (place / "environ").read_bytes():
                    self._strangers.add(number)
                    continue
                name = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                stat = (place / "stat").read_text().rpartition(")")[2].split()
                private = private_memory(place)
            except (OSError, ValueError):
                continue
            self.cpu[number] = (int(stat[11]) + int(stat[12])) / TICK
            if ACTOR in name:
                alive[number] = self.cpu[number]
            kind = "actors" if ACTOR in name else "driver" if "-m softquery" in name else "ray"
            kinds[kind] += private
        self.actors = alive
        self.memory.append({"seconds": round(time.monotonic() - began, 1), **kinds})

    def follow(self) -> None:
        """Look again and again, until it is stopped."""
        began = time.monotonic()
        while not self._done.wait(EVERY):
            self.look(began)

    def stop(self) -> None:
        """It is enough."""
        self._done.set()


def private_memory(place: Path) -> float:
    """Megabytes that a process shares with nobody."""
    fields = (place / "statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * PAGE / 1e6


@contextmanager
def watched() -> Iterator[tuple[Watch, dict[str, str]]]:
    """A watch, and the environment of the processes that it is to see."""
    watch = Watch(uuid.uuid4().hex)
    thread = threading.Thread(target=watch.follow, daemon=True)
    thread.start()
    try:
        yield watch, {**os.environ, MARK: watch.mark.decode().partition("=")[2]}
    finally:
        watch.stop()
        thread.join()


def command(*words: object) -> list[str]:
    """A command of softquery."""
    return [sys.executable, "-m", "softquery", "--quiet", *map(str, words)]


def matching(model: str, pairs: Path, output: Path) -> list[str]:
    """One process that answers a file."""
    return command("match", "--model", model, "--pairs", pairs, "--output", output, "--threads", 1)


def bare(model: str, folder: Path) -> dict[str, Any]:
    """Two bare processes, half of the pairs each."""
    outputs = [folder / f"half-{n}.jsonl" for n in (1, 2)]
    for path in outputs:
        path.unlink(missing_ok=True)
    began = time.monotonic()
    with watched() as (watch, around):
        started = [
            subprocess.Popen(matching(model, folder / f"half-{n}.tsv", path), env=around)
            for n, path in enumerate(outputs, 1)
        ]
        codes = [each.wait() for each in started]
    told(codes, "bare")
    return {"seconds": time.monotonic() - began, "cpu": cpu_of(watch), "digest": digest(outputs)}


def by_ray(model: str, folder: Path, *, kills: int = 0) -> dict[str, Any]:
    """Ray with two actors, some of which may be killed."""
    output = folder / f"ray-{uuid.uuid4().hex[:8]}"
    words = ["--engine", "ray", "--num-actors", 2]
    asked = ["match", "--model", model, "--pairs", folder / "all.tsv", "--output", output]
    began, by_calendar = time.monotonic(), time.time()
    draw, killed = random.Random(3), list[float]()
    with watched() as (watch, around):
        running = subprocess.Popen(command(*asked, *words), env=around)
        while running.poll() is None:
            if len(killed) < kills and one_dies(watch, draw):
                killed.append(round(time.monotonic() - began, 1))
            time.sleep(draw.uniform(2, 12) if kills else EVERY)
        code = running.wait()
    told([code], "ray")
    commits = sorted(path.stat().st_mtime for path in (output / "_commits").iterdir())
    shards = sorted(output.glob("*.jsonl"))
    return {
        "seconds": time.monotonic() - began,
        "cpu": cpu_of(watch),
        "to the first commit": commits[0] - by_calendar,
        "between the first commit and the last": commits[-1] - commits[0],
        "shards": len(shards),
        "digest": digest(shards),
        "kills": killed,
        "memory": watch.memory,
    }


def one_dies(watch: Watch, draw: random.Random) -> bool:
    """Kill an actor that has answered something; whether there was one."""
    busy = [number for number, seconds in watch.actors.items() if seconds > 3]
    if not busy:
        return False
    try:
        os.kill(draw.choice(busy), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def alone(model: str, folder: Path) -> dict[str, Any]:
    """A single process for all pairs."""
    output = folder / "alone.jsonl"
    output.unlink(missing_ok=True)
    began = time.monotonic()
    with watched() as (watch, around):
        code = subprocess.Popen(matching(model, folder / "all.tsv", output), env=around).wait()
    told([code], "alone")
    return {"seconds": time.monotonic() - began, "cpu": cpu_of(watch), "digest": digest([output])}


def cpu_of(watch: Watch) -> float:
    """CPU seconds of all processes of a command."""
    return sum(watch.cpu.values())


def told(codes: Iterable[int], name: str) -> None:
    """End where a command failed."""
    if any(codes):
        sys.exit(f"{name} ended with {list(codes)}")


def digest(paths: Iterable[Path]) -> dict[str, Any]:
    """The lines of files as a set that counts, and as a sequence."""
    count = total = 0
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                count += 1
                whole.update(line)
                total += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "big")
    return {"lines": count, "set": f"{total % 2**128:032x}", "sequence": whole.hexdigest()}


def memory_by_thirds(samples: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Mean megabytes of each third of a run, by kind of process."""
    third = max(1, len(samples) // 3)
    parts = [samples[n * third : (n + 1) * third] for n in range(3)]
    return {
        kind: [round(sum(each[kind] for each in part) / max(1, len(part)), 1) for part in parts]
        for kind in ("driver", "actors", "ray")
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=2_000_000)
    parser.add_argument("--as-they-are", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--model", default="match-en")
    parser.add_argument("--work", type=Path, default=Path("scale-work"))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    write_pairs(given.data, given.pairs, given.work, as_they_are=given.as_they_are)
    found: dict[str, Any] = {
        "pairs": given.pairs, "model": given.model, "cores": os.cpu_count(), "rounds": []
    }  # fmt: skip
    runs = {"bare": bare, "ray": by_ray}
    for number in range(given.rounds):
        order = ["bare", "ray"] if number % 2 == 0 else ["ray", "bare"]
        load = os.getloadavg()[0]
        measured = {name: runs[name](given.model, given.work) for name in order}
        found["rounds"].append({"order": order, "load before": load, **measured})
        show(f"round {number + 1}", measured)
        save(found, given.output)
    if given.kills:
        found["killed"] = by_ray(given.model, given.work, kills=given.kills)
        show("killed", {"ray": found["killed"]})
        save(found, given.output)
    if given.alone:
        found["alone"] = alone(given.model, given.work)
        show("alone", {"alone": found["alone"]})
    save(summed(found), given.output)


def summed(found: dict[str, Any]) -> dict[str, Any]:
    """With the ratios, and whether all outputs are the same."""
    rounds = found["rounds"]
    for what in ("seconds", "cpu"):
        found[f"bare / ray, {what}"] = [
            round(each["bare"][what] / each["ray"][what], 3) for each in rounds
        ]
    runs = [each[name] for each in rounds for name in ("bare", "ray")]
    runs += [found[name] for name in ("killed", "alone") if name in found]
    for each in ("lines", "set", "sequence"):
        found[f"{each} of outputs"] = sorted({run["digest"][each] for run in runs})
    for run in runs:
        if "memory" in run:
            run["memory in thirds, MB"] = memory_by_thirds(run.pop("memory"))
    return found


def show(name: str, measured: dict[str, Any]) -> None:
    """A line for each run."""
    for kind, run in measured.items():
        seconds, cpu = run["seconds"], run["cpu"]
        rows = run["digest"]["lines"]
        print(f"{name}: {kind} {seconds:.1f} s, {cpu:.1f} CPU s, {rows / seconds:,.0f} pairs/s")
        sys.stdout.flush()


def save(found: dict[str, Any], path: Path | None) -> None:
    """What is known so far."""
    if path is not None:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
