r"""What teachers see in the lessons: vectors of MiniLM and mpnet, joined along principal axes.

    PYTHONPATH=shipped python -m students.teach pack FOLDER --output minilm-8bit [--parts 2]
    PYTHONPATH=shipped python -m students.teach vectors minilm-8bit --lessons en \
        --output en/minilm.npy
    PYTHONPATH=shipped python -m students.teach join --lessons en --output en/both.npy \
        0.5=en/minilm.npy 0.5=en/mpnet.npy

`pack` rounds matrices to 8 bits, row by row, which makes a teacher a quarter as large to carry; its
vectors keep a cosine of 0.999 with those of the original (100 texts: at least 0.9991 for MiniLM and
0.9987 for mpnet). `vectors` reads a packed folder, with the tokens that the lessons have; both
teachers have BERT's sub-words, mpnet four places further on. `join` lays weighted vectors side by
side, so that a cosine is the mean of the teachers', turns them to their principal axes, found on
up to a million texts without centring, and keeps the first ones.
"""

import argparse
import json
import math
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from students.lessons import Lessons

SCALE = ":scale"
LEAST = 50_000
"""Numbers that a matrix has at least to be rounded."""
TOKENS = 131_072
"""Of a batch, padding included."""
SAMPLED, BLOCK = 1_000_000, 200_000


class Marks(NamedTuple):
    """Ids around and between a text's tokens."""

    start: int
    end: int
    pad: int
    shift: int
    """What is added to a token of BERT's vocabulary."""


MARKS = {"bert": Marks(101, 102, 0, 0), "mpnet": Marks(0, 2, 1, 4)}


def pack(options: argparse.Namespace) -> None:
    """Write a folder with rounded weights, in as many files as asked."""
    arrays: dict[str, np.ndarray] = {}
    for name, given in load_file(options.teacher / "model.safetensors").items():
        if given.dtype.kind != "f":
            continue
        if given.ndim == 2 and given.size >= LEAST:
            scale = np.abs(given).max(axis=1, keepdims=True).astype(np.float32) / 127
            scale[scale == 0] = 1
            arrays[name] = np.round(given / scale).astype(np.int8)
            arrays[name + SCALE] = scale[:, 0]
        else:
            arrays[name] = given.astype(np.float16)
    options.output.mkdir(parents=True, exist_ok=True)
    bins: list[dict[str, np.ndarray]] = [{} for _ in range(options.parts)]
    for name in sorted(arrays, key=lambda each: -arrays[each].nbytes):
        smallest = min(bins, key=lambda part: sum(array.nbytes for array in part.values()))
        smallest[name] = arrays[name]
    for number, part in enumerate(bins):
        save_file(part, options.output / f"part-{number}.safetensors")
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(options.teacher / name, options.output)


def open_packed(folders: list[Path], device: str) -> tuple[nn.Module, Marks]:
    """The encoder of a packed folder, whose parts may lie in several, and its marks."""
    import transformers

    arrays: dict[str, np.ndarray] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.safetensors")):
            arrays |= load_file(path)
    found = next(folder for folder in folders if (folder / "config.json").exists())
    settings = json.loads((found / "config.json").read_text(encoding="utf-8"))
    kind = settings["model_type"]
    config = transformers.AutoConfig.for_model(**settings)
    system = transformers.BertModel if kind == "bert" else transformers.MPNetModel
    model: Any = system(config, add_pooling_layer=False)
    state = {
        name: torch.from_numpy(
            array * arrays[name + SCALE][:, None]
            if name + SCALE in arrays
            else array.astype(np.float32)
        )
        for name, array in arrays.items()
        if not name.endswith(SCALE) and not name.startswith("pooler.")
    }
    lost = model.load_state_dict(state, strict=False)
    wrong = [name for name in lost.missing_keys if "position_ids" not in name]
    if wrong or lost.unexpected_keys:
        raise SystemExit(f"weights do not fit: {wrong}, {lost.unexpected_keys}")
    model = model.to(device).eval()
    return (model.half() if device == "cuda" else model), MARKS[kind]


@torch.inference_mode()
def vectors_of(model: nn.Module, marks: Marks, lessons: Lessons, most_tokens: int) -> Tensor:
    """Means over the tokens of every text, of length one, in half precision."""
    device = lessons.ids.device
    every = torch.arange(lessons.first["end"], device=device)
    order = torch.argsort(lessons.lengths(every), descending=True, stable=True)
    found: Tensor | None = None
    start = 0
    while start < len(order):
        longest = int(lessons.lengths(order[start : start + 1])) + 2
        rows = order[start : start + max(1, most_tokens // longest)]
        start += len(rows)
        inner = lessons.batch(rows, longest - 2)
        ids = torch.full((len(rows), longest), marks.pad, device=device)
        ids[:, 1:-1] = torch.where(inner.mask, inner.ids + marks.shift, marks.pad)
        lengths = lessons.lengths(rows)
        ids[:, 0] = marks.start
        ids[torch.arange(len(rows), device=device), lengths + 1] = marks.end
        mask = torch.arange(longest, device=device) < (lengths + 2)[:, None]
        states = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
        mean = (states * mask[:, :, None]).sum(1) / (lengths + 2)[:, None]
        if found is None:
            found = torch.empty(len(order), mean.shape[1], dtype=torch.float16, device=device)
        found[rows] = F.normalize(mean, dim=-1).half()
    if found is None or not torch.isfinite(found).all():
        raise SystemExit("the teacher gave no vectors, or none that are numbers")
    return found


def vectors(options: argparse.Namespace) -> None:
    """Write a teacher's vectors of all lessons."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, marks = open_packed(options.teacher, device)
    lessons = Lessons.read(options.lessons, device)
    found = vectors_of(model, marks, lessons, TOKENS if device == "cuda" else TOKENS // 16)
    np.save(options.output, found.cpu().numpy())


def join(options: argparse.Namespace) -> None:
    """Write what students learn: [N, E] in half precision."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    texts = Lessons.read(options.lessons, "cpu").first["made"]
    given = [each.partition("=") for each in options.vectors]
    parts = [(float(weight), np.load(path, mmap_mode="r")) for weight, _, path in given]

    def joined(start: int, end: int, step: int = 1) -> Tensor:
        sides = []
        for weight, part in parts:
            rows = torch.from_numpy(np.array(part[start:end:step])).to(device).float()
            sides.append(math.sqrt(weight) * F.normalize(rows, dim=-1))
        return torch.cat(sides, dim=1)

    moment: Any = 0.0
    step = -(-texts // SAMPLED)
    for start in range(0, texts, step * BLOCK):
        some = joined(start, min(start + step * BLOCK, texts), step)
        moment = moment + (some.T @ some).double()
    values, axes = torch.linalg.eigh(moment)
    axes = axes.flip(1)[:, : options.size].float()
    count = len(parts[0][1])
    found = np.empty((count, options.size), np.float16)
    for start in range(0, count, BLOCK):
        turned = F.normalize(joined(start, min(start + BLOCK, count)) @ axes, dim=-1)
        found[start : start + len(turned)] = turned.half().cpu().numpy()
    np.save(options.output, found)
    kept = float(values.flip(0)[: options.size].sum() / values.sum())
    print(f"{options.output}: {count:,} of {options.size}, which hold {kept:.1%}", flush=True)


def main() -> None:
    """Pack, read or join."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    packing = verbs.add_parser("pack")
    packing.add_argument("teacher", type=Path)
    packing.add_argument("--parts", type=int, default=1)
    packing.set_defaults(act=pack)
    reading = verbs.add_parser("vectors")
    reading.add_argument("teacher", type=Path, nargs="+", help="all folders that hold its parts")
    reading.add_argument("--lessons", type=Path, required=True)
    reading.set_defaults(act=vectors)
    joining = verbs.add_parser("join")
    joining.add_argument("vectors", nargs="+", help="WEIGHT=FILE.npy")
    joining.add_argument("--lessons", type=Path, required=True)
    joining.add_argument("--size", type=int, default=384)
    joining.set_defaults(act=join)
    for verb in (packing, reading, joining):
        verb.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    start = time.monotonic()
    options.act(options)
    print(f"{options.output}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
