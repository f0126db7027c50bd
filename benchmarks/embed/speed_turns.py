"""Encoders in processes of their own, asked in turns: A, B, C, A, B, C, ...

One process holds one encoder and waits while others are asked, so that no form's threads, caches or
allocator stand in the way of another's.
"""

import multiprocessing
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from benchmarks.embed.encoder_forms import TorchForm, hold_threads, open_form, sizes_of
from benchmarks.embed.sentence_scores import Bm25
from benchmarks.embed.sentence_sets import read_intents

from softquery.files import read_texts

Kind = Literal["model", "rival", "torch", "bm25"]
SHORT = range(6, 11)
"""Words of a short text."""
SENTENCE = range(10, 41)
"""Words of a sentence of Wikipedia."""
WARM_UP = 8
REST = 0.2
"""Seconds before a turn, in which the threads of the one before come to rest."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A form that is timed: what it is called, how it is opened, and from where."""

    name: str
    kind: Kind
    path: str


@dataclass(frozen=True, slots=True)
class Scenes:
    """What is asked: texts one by one, and two lists at once."""

    one: list[str]
    questions: list[str]
    sentences: list[str]
    stored: list[str]
    """Where BM25 looks."""

    @classmethod
    def read(cls, data: Path, text: Path, *, num_questions: int, num_sentences: int) -> "Scenes":
        """Questions of `intents/vira`, sentences of running text; no text stands twice."""
        vira = read_intents(data, "vira")
        questions, others = vira.asked[:num_questions], vira.asked[num_questions:]
        return cls(
            one=[each for each in others if len(each.split()) in SHORT],
            questions=questions,
            sentences=sentences_of(read_texts([text]), num_sentences),
            stored=vira.stored,
        )

    def mean_words(self) -> dict[str, float]:
        """How long the texts are."""
        return {
            name: statistics.mean(len(text.split()) for text in texts)
            for name, texts in asdict(self).items()
            if name != "stored"
        }


def sentences_of(lines: Any, count: int) -> list[str]:
    """The first sentences of running text, each once, headings and fragments left out.

    >>> sentences_of(["= One =", "Short one. " + "word " * 9 + "end. Rest", "= Two ="], 5)
    ['word word word word word word word word word end.']
    """
    found: dict[str, None] = {}
    for line in lines:
        if line.lstrip().startswith("="):
            continue
        for each in re.split(r"(?<=[.!?])\s+", line.strip()):
            if len(each.split()) in SENTENCE and each.endswith((".", "!", "?")):
                found[each] = None
        if len(found) >= count:
            break
    return list(found)[:count]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one encoder took in one round, in seconds."""

    one: float
    """The median of the texts that were asked one by one."""
    questions: float
    sentences: float


def take_turn(encode: Any, scenes: Scenes, number: int, calls: int) -> Turn:
    """Ask an encoder everything once; each round has other single texts."""
    texts = scenes.one[:WARM_UP]
    start = WARM_UP + number * calls
    texts += [scenes.one[(start + turn) % len(scenes.one)] for turn in range(calls)]
    times = [seconds(encode, [text]) for text in texts][WARM_UP:]
    return Turn(
        statistics.median(times),
        seconds(encode, scenes.questions),
        seconds(encode, scenes.sentences),
    )


def seconds(encode: Any, texts: list[str]) -> float:
    start = time.perf_counter()
    encode(texts)
    return time.perf_counter() - start


def work(connection: Connection, contestant: Contestant, scenes: Scenes, threads: int) -> None:
    """A process: open the encoder, say what it is, then take turns until told to stop."""
    hold_threads(threads)
    start = time.perf_counter()
    encode, told = opened(contestant, scenes, threads)
    encode(scenes.questions[:1])
    connection.send({**told, "start_s": time.perf_counter() - start})
    encode(scenes.questions[:64])
    while (asked := connection.recv()) is not None:
        connection.send(take_turn(encode, scenes, *asked))


def opened(contestant: Contestant, scenes: Scenes, threads: int) -> tuple[Any, dict[str, Any]]:
    """What encodes, and its sizes."""
    if contestant.kind == "bm25":
        ranker = Bm25(scenes.stored)
        return lambda texts: [ranker.best(text) for text in texts], {}
    if contestant.kind == "torch":
        return TorchForm(Path(contestant.path), threads).encode, {"precision": "float32"}
    encoder = open_form(contestant.path, threads)
    return encoder.encode, asdict(sizes_of(contestant.path, encoder))


def in_turns(
    contestants: Sequence[Contestant], scenes: Scenes, *, threads: int, rounds: int, calls: int
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Turn]]]:
    """What each contestant is, and its turns."""
    processes = {each.name: Asked(each, scenes, threads) for each in contestants}
    turns: dict[str, list[Turn]] = {name: [] for name in processes}
    for number in range(rounds):
        for name, process in processes.items():
            time.sleep(REST)
            turns[name].append(process.turn(number, calls))
            print(number, name, turns[name][-1], flush=True)
    for process in processes.values():
        process.stop()
    return {name: process.told for name, process in processes.items()}, turns


class Asked:
    """A contestant in its process; ready once it has encoded a text."""

    def __init__(self, contestant: Contestant, scenes: Scenes, threads: int) -> None:
        spawned = multiprocessing.get_context("spawn")
        self._line, there = spawned.Pipe()
        self._process = spawned.Process(target=work, args=(there, contestant, scenes, threads))
        self._process.start()
        there.close()
        self.told: dict[str, Any] = self._line.recv()
        print(contestant.name, self.told, flush=True)

    def turn(self, number: int, calls: int) -> Turn:
        """One round."""
        self._line.send((number, calls))
        found: Turn = self._line.recv()
        return found

    def stop(self) -> None:
        """End the process."""
        self._line.send(None)
        self._process.join()
