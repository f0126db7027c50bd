r"""Students by a list of runs, with everything in the memory of one GPU.

    PYTHONPATH=shipped python -m students.learn --lessons en --runs runs.json \
        --results results.jsonl

The model is `PooledEncoder` and the loss `SentenceDistillation`, as in `softquery distill`. A run
ends after `steps` or, where `seconds` are given, when they are over; its rate falls to nothing by
then. Weights are saved in half precision beside the settings, now and then and at the end.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mine import nearest
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.data import TaughtBatch, Tokens
from softquery.models import PooledEncoder, PooledEncoderConfig, SentenceOutput
from softquery.tasks import SentenceDistillation
from students.lessons import Lessons
from students.scores import scores
from students.vocabulary import in_pieces, kept_pieces

LONGEST = 64
SPREAD = 0.3
"""Standard deviation of the vectors that a body reads first."""
SORTED = 32
"""Batches of texts that are sorted by length together."""
ENCODED = 4_096
COMPARED = 128
"""Numbers of a target by which near texts are found."""
LOOKED_AT = 10_000
"""Learnt texts whose cosine with the teacher is told beside that of the judged ones."""
_FOUND: dict[tuple[str, int, int], Tensor] = {}
"""Near texts of runs before, by what saw them as near, how many texts, and how many of each."""
SEARCHED = 400_000
"""Texts among which a text's nearest ones are found."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One student."""

    name: str
    targets: str
    model: dict[str, Any] = field(default_factory=dict)
    start: str = ""
    """A student to go on from, without an ending; `model` and `pieces` are then its own. Without
    `cosine_weight`, its vectors and the targets may lie in spaces of their own."""
    seed: int = 1
    share: float = 1.0
    """Of the texts, with what was made of them."""
    asked: float = 1.0
    """The share of the questions made by rule."""
    made: bool = True
    steps: int = 20_000
    seconds: float = 0.0
    rate: float = 4e-3
    warmup: float = 0.03
    batch: int = 2_048
    pieces: int = 26_000
    near: int = 0
    """How many of a text's nearest texts stand beside it in every other batch, on average."""
    twins: bool = False
    """Whether what was made of a text, or what it was made of, takes the place of its nearest."""
    confused: int = 0
    """How many more stand there, which `confused_by`, a student taught before, sees as near."""
    confused_by: str = ""
    compiled: bool = True
    recorded: bool = True
    """Whether a GPU's steps are recorded and played back."""
    prefixes: tuple[int, ...] = (64, 128, 256)
    cosine_weight: float = 10.0
    likeness_weight: float = 1.0
    closeness_weight: float = 0.0
    temperature: float = 0.05
    by: str = "accuracy"
    save: str = ""
    """Where weights go, without an ending."""
    every: float = 60.0
    """Seconds between two looks at the figures, and two savings."""


class Teaching:
    """What a run needs, on the device.

    Args:
        lessons: In the teacher's pieces.
        run: The student.
        targets: What it learns of each text, [N, E] or wider.
    """

    def __init__(self, lessons: Lessons, run: Run, targets: Tensor) -> None:
        torch.manual_seed(run.seed)
        self.run, self.targets, device = run, targets, lessons.ids.device
        known = json.loads(Path(f"{run.start}.json").read_text("utf-8")) if run.start else {}
        self.kept = known.get("pieces", lessons.pieces)
        self.lessons = lessons
        if lessons.are_bert_pieces:
            self.kept = known.get("pieces") or kept_pieces(lessons, run.pieces)
            self.lessons = in_pieces(lessons, self.kept)
        elif self.kept != lessons.pieces:
            raise SystemExit(f"{run.start}: has other sub-words than the lessons")
        settings = {"output_size": targets.shape[1], **run.model, **known.get("config", {})}
        settings["pools"] = tuple(settings.get("pools", ("query", "max")))
        settings["vocab_size"] = len(self.kept)
        self.config = PooledEncoderConfig(**settings)
        self.model = PooledEncoder(self.config).to(device)
        if run.start:
            weights = load_file(f"{run.start}.safetensors")
            self.model.load_state_dict({name: each.float() for name, each in weights.items()})
        else:
            self._fill_table()
        width = self.config.output_size
        self.task = SentenceDistillation(
            output_size=width,
            prefixes=tuple(each for each in run.prefixes if each < width),
            cosine_weight=run.cosine_weight,
            likeness_weight=run.likeness_weight,
            closeness_weight=run.closeness_weight,
            temperature=run.temperature,
        )
        self.rows = self._chosen()
        beside = [self._near()] if run.near else []
        if run.confused:
            before = Run(name=run.name, targets=run.targets, start=run.confused_by)
            seen = Teaching(lessons, before, targets).vectors(self.rows)
            beside.append(self._nearest(run.confused_by, seen, run.confused))
        self.near = torch.cat(beside, dim=1) if beside else None

    def _fill_table(self) -> None:
        """Begin with the teacher's vectors of the pieces by themselves."""
        numbers = {piece: n for n, piece in enumerate(self.lessons.pieces)}
        places = [self.lessons.first["pieces"] + numbers[piece] for piece in self.kept]
        known = self.targets[places].float()[:, : self.config.embedding_size]
        if self.model.body is None:
            nn.init.eye_(self.model.output.weight)
            nn.init.zeros_(self.model.output.bias)
        else:
            known = known * (SPREAD / known.std())
        table = self.model.embedder.table.weight.data
        table[:, : known.shape[1]] = known
        table[0] = 0

    def _chosen(self) -> Tensor:
        """Numbers of the texts to learn; the same for every seed."""
        lessons, device = self.lessons, self.lessons.ids.device
        count, end = lessons.first["asked"], lessons.first["made"]
        order = torch.randperm(count, generator=torch.Generator().manual_seed(1234))
        texts = order[: int(count * self.run.share)].to(device)
        parts = [texts]
        if self.run.asked and end > count:
            order = torch.randperm(end - count, generator=torch.Generator().manual_seed(1235))
            asked = int((end - count) * self.run.share * self.run.asked)
            parts.append(count + order[:asked].to(device))
        if self.run.made and len(lessons.owners):
            is_chosen = torch.zeros(count, dtype=torch.bool, device=device)
            is_chosen[texts] = True
            parts.append(end + torch.nonzero(is_chosen[lessons.owners])[:, 0])
        rows = torch.cat(parts)
        return rows[lessons.lengths(rows) > 0]

    def _near(self) -> Tensor:
        """The texts that stand beside each in every other batch, the twin first."""
        near = self._nearest(self.run.targets, self.targets[self.rows], self.run.near)
        lessons = self.lessons
        if not self.run.twins or not len(lessons.owners):
            return near
        twin = torch.full((lessons.first["end"],), -1, device=near.device)
        made = lessons.rows("made")
        made = made[lessons.lengths(made) > 0]
        owners = lessons.owners[made - lessons.first["made"]]
        twin[owners], twin[made] = made, owners
        own = twin[self.rows]
        return torch.cat([torch.where(own < 0, near[:, 0], own)[:, None], near[:, 1:]], dim=1)

    def _nearest(self, seen_by: str, vectors: Tensor, count: int) -> Tensor:
        """The texts nearest to each in somebody's eyes."""
        key = (seen_by, len(self.rows), count)
        if key not in _FOUND:
            _FOUND[key] = self.rows[nearest_texts(vectors[:, :COMPARED], count)]
        return _FOUND[key]

    def batches(self) -> Iterator[tuple[Tensor, int]]:
        """Numbers of texts and their padded length, without end; of like length together."""
        epoch, lessons = 0, self.lessons
        while True:
            device, seed = self.rows.device, 1000 * epoch + self.run.seed
            chance = torch.Generator(device=device).manual_seed(seed)
            order = torch.randperm(len(self.rows), generator=chance, device=device)
            found = self._by_length(self.rows[order, None])
            if self.near is not None:
                heads = order[: len(order) // (1 + self.near.shape[1])]
                found += self._by_length(torch.cat([self.rows[heads, None], self.near[heads]], 1))
            longest = torch.stack([lessons.lengths(rows).max() for rows in found]).tolist()
            shuffled = np.random.default_rng([self.run.seed, epoch]).permutation(len(found))
            for place in shuffled.tolist():
                yield found[place], min(LONGEST, -(-int(longest[place]) // 4) * 4)
            epoch += 1

    def _by_length(self, groups: Tensor) -> list[Tensor]:
        """Whole batches of groups, [N, G], that are about equally long."""
        size, found = self.run.batch // groups.shape[1], []
        for part in groups.split(size * SORTED):
            by_length = part[torch.argsort(self.lessons.lengths(part).amax(dim=1))]
            found += [each.flatten() for each in by_length.split(size) if len(each) == size]
        return found

    @torch.inference_mode()
    def vectors(self, rows: Tensor) -> Tensor:
        """The student's vectors of texts."""
        lessons = self.lessons
        found = torch.empty(len(rows), self.config.output_size, device=rows.device)
        order = torch.argsort(lessons.lengths(rows))
        self.model.eval()
        for part in order.split(ENCODED):
            length = max(1, min(LONGEST, int(lessons.lengths(rows[part]).max())))
            found[part] = self.model.encode(lessons.batch(rows[part], length)).vectors
        self.model.train()
        return found

    def figures(self) -> dict[str, float]:
        """What the student reaches."""
        judged = self.lessons.rows("judged")
        found = self.vectors(judged)
        half = F.normalize(found[:, :128], dim=-1)
        told = {
            **scores(found, self.lessons.judged, by=self.run.by),
            "first_128": scores(half, self.lessons.judged, by=self.run.by)["mean"],
        }
        if self.run.cosine_weight:
            chance = torch.Generator().manual_seed(6)
            some = self.rows[torch.randperm(len(self.rows), generator=chance)[:LOOKED_AT]]
            told["cosine"] = self._cosine(judged, found)
            told["cosine_learnt"] = self._cosine(some, self.vectors(some))
        return told

    def _cosine(self, rows: Tensor, found: Tensor) -> float:
        """The mean cosine with the teacher's vectors."""
        wanted = F.normalize(self.targets[rows, : found.shape[1]].float(), dim=-1)
        return float((found * wanted).sum(1).mean())

    def told(self, step: int, loss: float, seconds: float) -> dict[str, Any]:
        """What became of the student so far."""
        return {"steps_done": step, "loss": loss, "texts": len(self.rows),
                "seconds_taken": round(seconds), **self.figures()}  # fmt: skip

    def save(self, told: dict[str, Any]) -> None:
        """Write weights and settings, whole or not at all."""
        if not self.run.save:
            return
        target = Path(self.run.save)
        weights = {name: w.detach().half().cpu().contiguous()
                   for name, w in self.model.state_dict().items()}  # fmt: skip
        save_file(weights, f"{target}.partial")
        Path(f"{target}.partial").replace(f"{target}.safetensors")
        settings = {"config": asdict(self.config), "pieces": self.kept, "told": told}
        if not self.lessons.are_bert_pieces:
            settings["tokenizer"] = self.lessons.tokenizer
        Path(f"{target}.json").write_text(json.dumps(settings), encoding="utf-8")


class Steps:
    """One step of training after the other.

    On a GPU a step may be recorded once for every length of a batch, so that later ones are played
    back without Python or a launch per kernel in between.

    Args:
        teaching: What is trained.
    """

    def __init__(self, teaching: Teaching) -> None:
        run, device = teaching.run, teaching.rows.device
        self.teaching, self.on_gpu = teaching, device.type == "cuda"
        self.is_recorded = run.recorded and self.on_gpu
        self.parameters = list(teaching.model.parameters())
        self._rate = torch.tensor(run.rate, device=device)
        self.optimizer = torch.optim.Adam(
            self.parameters,
            lr=self._rate,
            betas=(0.9, 0.98),
            capturable=self.on_gpu,
            fused=self.on_gpu,
        )
        self._encoded: Callable[[Tokens], Tensor] = self._encode
        self._compared: Callable[[Tensor, Tensor], Tensor] = self._compare
        if run.compiled:
            torch._dynamo.config.cache_size_limit = 64
            self._encoded = torch.compile(self._encode, dynamic=True)
            self._compared = torch.compile(self._compare, dynamic=False)
        self._records: dict[int, tuple[torch.cuda.CUDAGraph, Tensor, Tensor]] = {}
        self._memory: Any = None

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return float(self._rate)

    @rate.setter
    def rate(self, rate: float) -> None:
        self._rate.fill_(rate)

    def __call__(self, rows: Tensor, length: int) -> Tensor:
        """Learn from some texts, padded or cut to a length; the loss."""
        if not self.is_recorded:
            self.optimizer.zero_grad(set_to_none=True)
            return self._step(rows, length)
        if length not in self._records:
            self._record(rows, length)
        graph, place, loss = self._records[length]
        place.copy_(rows)
        graph.replay()
        return loss

    def _encode(self, tokens: Tokens) -> Tensor:
        with torch.autocast(self._rate.device.type, torch.bfloat16, enabled=self.on_gpu):
            return self.teaching.model.encode(tokens).vectors

    def _compare(self, found: Tensor, wanted: Tensor) -> Tensor:
        batch = TaughtBatch(Tokens(wanted[:0], wanted[:0]), wanted)
        return self.teaching.task.loss(SentenceOutput(found, None), batch)

    def _step(self, rows: Tensor, length: int) -> Tensor:
        teaching = self.teaching
        width = teaching.config.output_size if teaching.run.cosine_weight else None
        wanted = F.normalize(teaching.targets[rows, :width].float(), dim=-1)
        loss = self._compared(self._encoded(teaching.lessons.batch(rows, length)), wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=True)
        self.optimizer.step()
        return loss.detach()

    def _record(self, rows: Tensor, length: int) -> None:
        """Record a step of a length, after two that are computed as they come."""
        place, beside = rows.clone(), torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(2):
                self.optimizer.zero_grad(set_to_none=True)
                self._step(place, length)
        torch.cuda.current_stream().wait_stream(beside)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._memory):
            loss = self._step(place, length)
        self._memory = graph.pool()
        self._records[length] = graph, place, loss


def nearest_texts(vectors: Tensor, count: int) -> Tensor:
    """The places of the texts nearest to each of these [N, E], itself left out: [N, count].

    Among many texts, the nearest of a random part of them.
    """
    size, device = len(vectors), vectors.device
    found = torch.empty(size, count, dtype=torch.long, device=device)
    order = torch.randperm(size, generator=torch.Generator().manual_seed(5)).to(device)
    for part in order.chunk(-(-size // SEARCHED)):
        known = F.normalize(vectors[part].float(), dim=-1)
        places, _ = nearest(known.half() if known.is_cuda else known, count)
        found[part] = part[torch.from_numpy(places).to(device)]
    return found


def taught(teaching: Teaching) -> dict[str, Any]:
    """Train a student; what became of it."""
    run = teaching.run
    step_of = Steps(teaching)
    began = looked = time.monotonic()
    loss, step = torch.zeros(()), 0
    for rows, length in teaching.batches():
        spent = time.monotonic() - began
        done = max(step / run.steps, spent / run.seconds if run.seconds else 0.0)
        if done >= 1:
            break
        rise = min(1.0, done / run.warmup) if run.warmup else 1.0
        step_of.rate = run.rate * max(rise, 1e-3) * 0.5 * (1 + math.cos(math.pi * done))
        loss = step_of(rows, length)
        step += 1
        if time.monotonic() - looked > run.every:
            looked = time.monotonic()
            told = teaching.told(step, loss.item(), looked - began)
            print(run.name, run.seed, _rounded(told), flush=True)
            teaching.save({**asdict(run), **told})
    return teaching.told(step, loss.item(), time.monotonic() - began)


def _rounded(told: dict[str, Any]) -> dict[str, Any]:
    return {name: round(v, 3) if isinstance(v, float) else v for name, v in told.items()}


def main() -> None:
    """Train every student of the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lessons", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    lessons, known, targets = Lessons.read(options.lessons, device), "", torch.empty(0)
    for given in json.loads(options.runs.read_text(encoding="utf-8")):
        run = Run(**given)
        if run.targets != known:
            known, targets = run.targets, torch.from_numpy(np.load(run.targets)).to(device)
        teaching = Teaching(lessons, run, targets)
        told = taught(teaching)
        row = {**given, **told}
        teaching.save({**asdict(run), **told})
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print("done", run.name, run.seed, _rounded(told), flush=True)


if __name__ == "__main__":
    main()
