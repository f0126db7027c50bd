r"""Pairs that Chinese matchers learn: mined by vectors, beside those with labels.

    python shipped/chinese_pairs.py research --gold train.jsonl --hard hard.jsonl --m3e m3e \
        --dev dev.jsonl --output research
    python shipped/chinese_pairs.py free --texts texts.txt.xz --made made.tsv.xz \
        --hard hard.jsonl.xz --gold pawsx.jsonl --simbert simbert --use RESOURCES --output free

`research` takes gold pairs, half of whose share is what teachers say, and pairs their texts anew:
near ones by m3e's vectors, for teachers to judge. `free` pairs free texts, and texts with what
SimBERT wrote like them; how likely they mean the same is read off the cosines of SimBERT (0.4) and
USE (0.6). Pairs by rule and gold ones keep most of their label. Texts that some set is measured
with, and those of the probes, are left out.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hard.guard import ProbeGuard, normal
from matcher_teachers import Texts, open_encoder, read_rows
from multilingual_use import MultilingualUse
from numbered_pairs import NumberedPairs
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor
from torch.nn import functional as F

from softquery.files import open_text
from softquery.text.segmentation import simplified

READ = 131_072
"""Tokens of a batch."""
COMPARED = 2_048
"""Texts that are compared with all others at a time."""
ASKING = 400_000
"""Texts whose neighbours are looked for."""
BLOCK = 100_000
NEAR, MIDDLE = (0, 3), (3, 40)
"""Ranks of neighbours."""
WEIGHTS = (0.4, 0.6)
"""Of SimBERT and USE."""
UNKNOWN = float("nan")
GOLD_TRUST, RULE_TRUST, SOFT_TRUST = 0.5, 0.8, 0.5


def device() -> str:
    """Where to compute."""
    return "cuda" if torch.cuda.is_available() else "cpu"


@torch.inference_mode()
def bert_vectors(folder: Path, texts: list[str], processes: int) -> Tensor:
    """Of length one, in half precision: SimBERT's pooler before the tanh, of others the mean."""
    on, model = device(), open_encoder(folder)
    arrays = load_file(folder / "packed.safetensors")
    cut = Texts(texts, folder / "tokenizer.json", on, processes)
    model.to(on).eval()
    pooler = None
    if "pooler.dense.weight" in arrays and "embeddings_project.weight" in arrays:
        scale = arrays["pooler.dense.weight:scale"][:, None]
        weight = torch.from_numpy(arrays["pooler.dense.weight"] * scale).to(on)
        pooler = weight, torch.from_numpy(arrays["pooler.dense.bias"].astype(np.float32)).to(on)
    order = cut.lengths.argsort(descending=True)
    found = torch.empty(0)
    start, most = 0, READ if on == "cuda" else READ // 16
    while start < len(order):
        length = int(cut.lengths[order[start]]) + 2
        rows = order[start : start + max(1, most // length)]
        start += len(rows)
        batch = cut.one(rows, length)
        with torch.autocast(on, torch.float16, enabled=on == "cuda"):
            states = model(**batch).last_hidden_state.float()
        mask = batch["attention_mask"].unsqueeze(-1)
        vectors = (
            (states * mask).sum(1) / mask.sum(1)
            if pooler is None
            else states[:, 0] @ pooler[0].T + pooler[1]
        )
        if not len(found):
            found = torch.empty(len(order), vectors.shape[1], dtype=torch.float16, device=on)
        found[rows] = F.normalize(vectors, dim=-1).half()
    return found


def joined_vectors(texts: list[str], options: argparse.Namespace) -> Tensor:
    """SimBERT's and USE's side by side, so that a cosine is the weighted mean of theirs."""
    simbert = bert_vectors(options.simbert, texts, options.processes)
    use = MultilingualUse(options.use, device())
    blocks = [
        torch.from_numpy(use.encode(texts[start : start + BLOCK]).astype(np.float16)).to(device())
        for start in range(0, len(texts), BLOCK)
    ]
    parts = zip(WEIGHTS, (simbert, torch.cat(blocks)), strict=True)
    return torch.cat([each * weight**0.5 for weight, each in parts], dim=1)


@torch.inference_mode()
def neighbours(vectors: Tensor, near: int, middle: int, seed: int) -> NDArray[np.int64]:
    """Texts with some of their nearest ones and some that are farther: pairs [N, 2], each once."""
    generator = torch.Generator(vectors.device).manual_seed(seed)
    reach, found = min(MIDDLE[1], len(vectors) - 1), []
    asking = torch.randperm(len(vectors), generator=generator, device=vectors.device)[:ASKING]
    for rows in asking.split(COMPARED):
        scores = vectors[rows] @ vectors.T
        scores[torch.arange(len(rows), device=rows.device), rows] = -2
        order = scores.topk(reach, dim=1).indices
        for (low, high), count in ((NEAR, near), (MIDDLE, middle)):
            for _ in range(count):
                place = torch.randint(low, min(high, reach), (len(rows), 1), generator=generator,
                                      device=rows.device)  # fmt: skip
                found.append(torch.stack([rows, order.gather(1, place)[:, 0]], dim=1))
    return distinct(torch.cat(found).cpu().numpy())


def distinct(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs whatever their order, each once, none of a text with itself."""
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    kept: NDArray[np.int64] = pairs[pairs[:, 0] != pairs[:, 1]]
    return kept


def without(pairs: NDArray[np.int64], known: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Those pairs that are not among the known ones."""
    taken = np.isin(pairs @ [count, 1], np.sort(known, axis=1) @ [count, 1])
    kept: NDArray[np.int64] = pairs[~taken]
    return kept


def gold_rows(path: Path, trust: float) -> Iterator[tuple[str, str, float, float]]:
    """Pairs with labels."""
    for row in read_rows(path):
        yield row["sentence1"], row["sentence2"], float(row["label"]), trust


def more(
    pairs: NDArray[np.int64], texts: list[str], share: NDArray[np.float32] | float, trust: float
) -> NumberedPairs:
    """Mined pairs of known texts."""
    count = len(pairs)
    first, second = pairs.T.astype(np.int32)
    shares = np.broadcast_to(np.asarray(share, np.float32), count).copy()
    return NumberedPairs(texts, first, second, shares, np.full(count, trust, np.float32))


def research(options: argparse.Namespace) -> NumberedPairs:
    """Gold pairs, and their texts paired anew."""
    ruled = gold_rows(options.hard, RULE_TRUST)
    gold = NumberedPairs.of([*gold_rows(options.gold, GOLD_TRUST), *ruled])
    vectors = bert_vectors(options.m3e, gold.texts, options.processes)
    mined = neighbours(vectors, options.near, options.middle, options.seed)
    mined = without(mined, np.stack([gold.first, gold.second], axis=1), len(gold.texts))
    mined = drawn(mined, options.count, options.seed)
    mined = mined[unmeasured(mined, gold.texts, options.dev)]
    return gold.beside(more(mined, gold.texts, UNKNOWN, 0.0))


def unmeasured(pairs: NDArray[np.int64], texts: list[str], dev: Path) -> NDArray[np.bool_]:
    """Which pairs do not stand in dev, whatever their order, case and punctuation."""
    keys = list(map(normal, texts))
    rows = read_rows(dev)
    known = {frozenset((normal(row["sentence1"]), normal(row["sentence2"]))) for row in rows}
    return np.array([frozenset((keys[a], keys[b])) not in known for a, b in pairs.tolist()], bool)


def drawn(pairs: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """At most so many of the pairs."""
    order = np.random.default_rng(seed).permutation(len(pairs))[:count]
    return pairs[order]


def made_pairs(path: Path, texts: dict[str, int]) -> NDArray[np.int64]:
    """Texts with what was written like them, and what was written like the same text."""
    rows = []
    last: dict[int, int] = {}
    names = list(texts)
    with open_text(path) as lines:
        for line in lines:
            text, _, owner = line.rpartition("\t")
            source, number = int(owner), texts.setdefault(text, len(texts))
            if source < len(names):
                rows.append((source, number))
            if source in last:
                rows.append((last[source], number))
            last[source] = number
    return np.array(rows, np.int64).reshape(-1, 2)


def soft_shares(vectors: Tensor, pairs: NDArray[np.int64], options: Any) -> NDArray[np.float32]:
    """How likely pairs mean the same, by their cosines."""
    found = []
    for part in torch.from_numpy(pairs).to(vectors.device).split(BLOCK):
        cosines = (vectors[part[:, 0]].float() * vectors[part[:, 1]].float()).sum(1)
        found.append(torch.sigmoid(options.slope * (cosines - options.middle_cosine)).cpu())
    return torch.cat(found).numpy()


def free(options: argparse.Namespace) -> NumberedPairs:
    """Mined pairs with shares by cosine; pairs by rule and gold ones with their labels."""
    guard = ProbeGuard()
    with open_text(options.texts) as lines:
        given = list(dict.fromkeys(simplified(line) for line in lines if line.strip()))
    numbers = {text: number for number, text in enumerate(given)}
    written = made_pairs(options.made, numbers) if options.made else np.empty((0, 2), np.int64)
    texts = list(numbers)
    vectors = joined_vectors(texts, options)
    mined = neighbours(vectors, options.near, options.middle, options.seed)
    far = np.random.default_rng(options.seed).integers(0, len(texts), (len(texts) // 4, 2))
    mined = drawn(distinct(np.concatenate([mined, written, far])), options.count, options.seed)
    mined = mined[allowed(mined, texts, guard)]
    soft = more(mined, texts, soft_shares(vectors, mined, options), SOFT_TRUST)
    labelled = [*gold_rows(options.hard, RULE_TRUST), *gold_rows(options.gold, RULE_TRUST)]
    return soft.beside(NumberedPairs.of(labelled))


def allowed(pairs: NDArray[np.int64], texts: list[str], guard: ProbeGuard) -> NDArray[np.bool_]:
    """Which pairs hold no text of the probes."""
    free_of = np.array([normal(text) not in guard.sentences for text in texts])
    kept: NDArray[np.bool_] = free_of[pairs].all(axis=1)
    return kept


def main() -> None:
    """Parse, mine and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    for act, names in ((research, ["m3e", "dev"]), (free, ["texts", "simbert", "use"])):
        verb = verbs.add_parser(act.__name__)
        for name in [*names, "gold", "hard", "output"]:
            verb.add_argument(f"--{name}", type=Path, required=True)
        verb.add_argument("--near", type=int, default=2, help="pairs per text of ranks 1 to 3")
        verb.add_argument("--middle", type=int, default=1, help="pairs per text of ranks 4 to 40")
        verb.add_argument("--count", type=int, default=1_000_000, help="the most mined pairs")
        verb.add_argument("--seed", type=int, default=1)
        verb.add_argument("--processes", type=int, default=8)
        verb.set_defaults(act=act)
        if act is free:
            verb.add_argument("--made", type=Path, help="what SimBERT wrote: text, owner's number")
            verb.add_argument("--slope", type=float, default=10.0, help="of a share over cosines")
            verb.add_argument("--middle-cosine", type=float, default=0.75, help="as likely as not")
    options = parser.parse_args()
    began = time.monotonic()
    found: NumberedPairs = options.act(options)
    found.write(options.output)
    print(f"{options.output}: {len(found):,} pairs of {len(found.texts):,} texts, "
          f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
