r"""Cross-encoders that teach a matcher: fitted on pairs by number, then asked about all of them.

    python shipped/matcher_teachers.py teach ernie --pairs FOLDER --dev dev.jsonl --name ernie
    python shipped/matcher_teachers.py join FOLDER/ernie.npy FOLDER/simbert.npy --pairs FOLDER \
        --output taught
    python shipped/matcher_teachers.py table ernie --output characters.bin

A teacher is a folder packed in 8 bits by `students.teach pack`, a BERT, or an ELECTRA, which is a
BERT with narrow tables. `teach` fits it on the pairs whose share is known, measures it on dev by
source, and writes its logits of all pairs, the mean of both orders. `join` writes what a student
learns: the share of each pair where it is known and trusted, and otherwise the mean of the
teachers'. `table` writes the vectors of a teacher's
characters, from which a student may start.

Everything lies in the memory of one GPU: tokens of all texts end to end, of which batches are cut
by index. B pairs, T tokens.
"""

import argparse
import json
import time
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numbered_pairs import NumberedPairs
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from softquery.files import VectorTable, open_text, write_vectors

SCALE = ":scale"
MARKS = ("[CLS]", "[SEP]", "[PAD]")
LONGEST = 100
"""Tokens of a text."""
BLOCK = 10_000
READ = 4_096
"""Pairs that are read at a time without learning."""
POOL = 50
"""Batches that are sorted by length together."""
DROPOUT = 0.1
SPREAD = 0.25
"""Standard deviation of a student's first vectors."""
SHARES = (1e-4, 1 - 1e-4)


class Cutter:
    """Cuts texts in a process of its own."""

    tokenizer: Tokenizer

    @classmethod
    def begin(cls, path: str) -> None:
        """Open the tokenizer."""
        cls.tokenizer = Tokenizer.from_file(path)
        cls.tokenizer.no_truncation()
        cls.tokenizer.no_padding()

    @classmethod
    def cut(cls, texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids end to end, and how many each text has."""
        given = [text.lower()[: 4 * LONGEST] for text in texts]
        found = cls.tokenizer.encode_batch(given, add_special_tokens=False)
        rows = [each.ids[:LONGEST] for each in found]
        lengths = np.array([len(row) for row in rows], np.int64)
        return np.fromiter((n for row in rows for n in row), np.int32, lengths.sum()), lengths


class Texts:
    """Tokens of all texts on one device.

    Args:
        texts: As they are written.
        tokenizer: What cuts them.
        device: Where the tokens lie.
        processes: That cut side by side.
    """

    def __init__(self, texts: list[str], tokenizer: Path, device: str, processes: int) -> None:
        blocks = [texts[start : start + BLOCK] for start in range(0, len(texts), BLOCK)]
        with Pool(processes, Cutter.begin, (str(tokenizer),)) as pool:
            found = pool.map(Cutter.cut, blocks, chunksize=1)
        ids = np.concatenate([*(ids for ids, _ in found), np.zeros(1, np.int32)])
        lengths = np.concatenate([lengths for _, lengths in found])
        self.ids = torch.from_numpy(ids).to(device)
        self.lengths = torch.from_numpy(lengths).to(device)
        self.starts = self.lengths.cumsum(0) - self.lengths
        marks = Tokenizer.from_file(str(tokenizer))
        self.start, self.end, self.pad = (marks.token_to_id(mark) for mark in MARKS)

    def to(self, device: str) -> "Texts":
        """The same texts, on another device from now on."""
        self.ids, self.lengths, self.starts = (
            each.to(device) for each in (self.ids, self.lengths, self.starts)
        )
        return self

    def batch(self, first: Tensor, second: Tensor, length: int) -> dict[str, Tensor]:
        """`[CLS] first [SEP] second [SEP]`, padded to a length."""
        places = torch.arange(length, device=first.device)
        behind = self.lengths[first, None] + 1  # the place of the mark between the texts
        end = behind + self.lengths[second, None] + 1
        is_first = places < behind
        token = torch.where(
            is_first,
            self.starts[first, None] + places - 1,
            self.starts[second, None] + places - behind - 1,
        )
        ids = self.ids[token.clamp(0, len(self.ids) - 1)].long()
        ids = torch.where(places == 0, self.start, ids)
        ids = torch.where((places == behind) | (places == end), self.end, ids)
        mask = places <= end
        return {
            "input_ids": torch.where(mask, ids, self.pad),
            "attention_mask": mask.long(),
            "token_type_ids": ((places > behind) & mask).long(),
        }

    def one(self, rows: Tensor, length: int) -> dict[str, Tensor]:
        """`[CLS] text [SEP]`, padded to a length."""
        places, end = torch.arange(length, device=rows.device), self.lengths[rows, None] + 1
        token = (self.starts[rows, None] + places - 1).clamp(0, len(self.ids) - 1)
        ids = torch.where(places == 0, self.start, self.ids[token].long())
        ids = torch.where(places == end, self.end, ids)
        mask = places <= end
        return {"input_ids": torch.where(mask, ids, self.pad), "attention_mask": mask.long()}

    def pair_lengths(self, first: Tensor, second: Tensor) -> NDArray[np.int64]:
        """Tokens of pairs, marks included."""
        lengths: NDArray[np.int64] = (self.lengths[first] + self.lengths[second] + 3).cpu().numpy()
        return lengths


def open_encoder(folder: Path) -> nn.Module:
    """The encoder of a packed folder, in full precision, with dropout."""
    arrays = load_file(folder / "packed.safetensors")
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config = transformers.AutoConfig.for_model(
        **settings, hidden_dropout_prob=DROPOUT, attention_probs_dropout_prob=DROPOUT
    )
    model: Any = (
        transformers.ElectraModel(config)
        if settings["model_type"] == "electra"
        else transformers.BertModel(config, add_pooling_layer=False)
    )
    state = {
        name: torch.from_numpy(
            array * arrays[name + SCALE][:, None]
            if name + SCALE in arrays
            else array.astype(np.float32)
        )
        for name, array in arrays.items()
        if not name.endswith(SCALE) and not name.startswith("pooler.")
    }
    model.load_state_dict(state)
    return model  # type: ignore[no-any-return]


class CrossEncoder(nn.Module):
    """One logit of both texts: that they mean the same."""

    def __init__(self, folder: Path, device: str) -> None:
        super().__init__()
        self.device = device
        self.encoder = open_encoder(folder)
        width = self.encoder.config.hidden_size  # type: ignore[union-attr]
        self.head = nn.Sequential(
            nn.Dropout(DROPOUT), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )
        self.to(device)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """In bfloat16 on a GPU."""
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            states = self.encoder(**batch).last_hidden_state
            logits: Tensor = self.head(states[:, 0])[:, 0]
        return logits.float()


def batches(
    lengths: NDArray[np.int64], size: int, random: np.random.Generator | None = None
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Places in batches of like length, shuffled where something draws, and the padded length."""
    order = np.argsort(lengths) if random is None else random.permutation(len(lengths))
    pool = len(order) if random is None else POOL * size
    cut = []
    for start in range(0, len(order), max(1, pool)):
        some = order[start : start + pool]
        some = some[np.argsort(lengths[some], kind="stable")]
        cut += [some[place : place + size] for place in range(0, len(some), size)]
    turns = range(len(cut)) if random is None else random.permutation(len(cut))
    for place in turns:
        yield cut[place], int(-(-lengths[cut[place]].max() // 8) * 8)


def fit(
    model: CrossEncoder, texts: Texts, pairs: NumberedPairs, options: argparse.Namespace
) -> None:
    """Learn the pairs whose share is known."""
    known = np.flatnonzero(np.isfinite(pairs.share))
    first, second, share = (
        torch.from_numpy(each[known]).to(model.device)
        for each in (pairs.first, pairs.second, pairs.share)
    )
    lengths = texts.pair_lengths(first, second)
    steps = options.epochs * -(-len(known) // options.batch)
    fused = model.device == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01, fused=fused)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.lr, steps + 1, pct_start=0.06, anneal_strategy="linear"
    )
    random, began = np.random.default_rng(options.seed), time.monotonic()
    model.train()
    for epoch in range(options.epochs):
        total = torch.zeros((), device=model.device)
        for places, length in batches(lengths, options.batch, random):
            rows = torch.from_numpy(places).to(model.device)
            one, other = first[rows], second[rows]
            is_turned = torch.rand(len(rows), device=model.device) < 0.5
            batch = texts.batch(
                torch.where(is_turned, other, one), torch.where(is_turned, one, other), length
            )
            loss = F.binary_cross_entropy_with_logits(model(batch), share[rows])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach() * len(rows)
        seconds = time.monotonic() - began
        print(f"epoch {epoch + 1}: loss {total / len(known):.4f}, {seconds:.0f} s", flush=True)


@torch.inference_mode()
def logits_of(model: CrossEncoder, texts: Texts, pairs: NumberedPairs) -> NDArray[np.float32]:
    """The mean of both orders."""
    model.eval()
    first, second = (
        torch.from_numpy(each).to(model.device) for each in (pairs.first, pairs.second)
    )
    found = torch.zeros(len(pairs), device=model.device)
    for places, length in batches(texts.pair_lengths(first, second), READ):
        rows = torch.from_numpy(places).to(model.device)
        both = [
            model(texts.batch(one[rows], other[rows], length))
            for one, other in ((first, second), (second, first))
        ]
        found[rows] = (both[0] + both[1]) / 2
    return found.cpu().numpy()


def measured(logits: NDArray[np.float32], rows: list[dict[str, str]]) -> dict[str, Any]:
    """AUC and accuracy by source; and, threshold from the first half, accuracy on the second."""
    label = np.array([row["label"] == "1" for row in rows])
    source = np.array([row["source"] for row in rows])
    found = {}
    for name in dict.fromkeys(source.tolist()):
        mine = np.flatnonzero(source == name)
        x, y = logits[mine].astype(np.float64), label[mine]
        order = np.argsort(x, kind="stable")
        ranks = np.empty(len(x))
        ranks[order] = np.arange(1, len(x) + 1)
        num_same, num_other = int(y.sum()), int((~y).sum())
        auc = (ranks[y].sum() - num_same * (num_same + 1) / 2) / max(1, num_same * num_other)
        half = np.random.default_rng(1).permutation(len(x))
        fitted, held = half[: len(x) // 2], half[len(x) // 2 :]
        cuts = np.quantile(x[fitted], np.linspace(0, 1, 201))
        best = max(cuts, key=lambda cut: ((x[fitted] > cut) == y[fitted]).mean())
        found[name] = {
            "n": len(x),
            "auc": round(float(auc), 4),
            "accuracy": round(float(((x > 0) == y).mean()), 4),
            "second half": round(float(((x[held] > best) == y[held]).mean()), 4),
        }
    return found


def write_labelled(
    path: Path, pairs: NumberedPairs, places: NDArray[np.int64], share: NDArray[np.float64]
) -> None:
    """Write some pairs with the likelier label, to steer a student by."""
    with path.open("w", encoding="utf-8") as file:
        for place in places.tolist():
            row = {
                "sentence1": pairs.texts[pairs.first[place]],
                "sentence2": pairs.texts[pairs.second[place]],
                "label": str(int(share[place] > 0.5)),
                "source": "held back",
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def table(options: argparse.Namespace) -> None:
    """Write a teacher's vectors of characters and words, by principal axes."""
    names = Tokenizer.from_file(str(options.teacher / "tokenizer.json")).get_vocab()
    arrays = load_file(options.teacher / "packed.safetensors")
    name = "embeddings.word_embeddings.weight"
    whole = arrays[name] * arrays[name + SCALE][:, None]
    words = [word for word in names if not word.startswith(("##", "["))]
    rows = whole[[names[word] for word in words]]
    rows = rows - rows.mean(axis=0)
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    found = rows @ axes[: options.size].T
    vectors = VectorTable(words, (found * (SPREAD / found.std())).astype(np.float32))
    write_vectors(options.output, vectors, form="word2vec-binary")
    print(f"{options.output}: {len(words):,} of {options.size} dimensions", flush=True)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a JSONL file, compressed or not."""
    with open_text(path) as lines:
        return [json.loads(line) for line in lines]


def teach(options: argparse.Namespace) -> None:
    """Fit, measure, and write logits of all pairs."""
    torch.manual_seed(options.seed)
    device, began = "cuda" if torch.cuda.is_available() else "cpu", time.monotonic()
    pairs, dev = NumberedPairs.read(options.pairs), read_rows(options.dev)
    asked = NumberedPairs.of((row["sentence1"], row["sentence2"], 0.0, 0.0) for row in dev)
    tokenizer = options.teacher / "tokenizer.json"
    texts, asked_texts = (  # cut before the GPU is used, since processes are forked for it
        Texts(each.texts, tokenizer, "cpu", options.processes) for each in (pairs, asked)
    )
    texts, asked_texts = texts.to(device), asked_texts.to(device)
    print(f"{len(pairs):,} pairs cut: {time.monotonic() - began:.0f} s", flush=True)
    model = CrossEncoder(options.teacher, device)
    fit(model, texts, pairs, options)
    found = logits_of(model, asked_texts, asked)
    np.save(options.pairs / f"{options.name}-dev.npy", found)
    told = measured(found, dev)
    print(json.dumps(told), flush=True)
    (options.pairs / f"{options.name}-dev.json").write_text(json.dumps(told, indent=1))
    np.save(options.pairs / f"{options.name}.npy", logits_of(model, texts, pairs))
    print(f"{options.name}: {time.monotonic() - began:.0f} s", flush=True)


def join(options: argparse.Namespace) -> None:
    """Write pairs with the share that a student learns, all of it trusted."""
    pairs = NumberedPairs.read(options.pairs)
    logits = np.mean([np.load(path) for path in options.logits], axis=0)
    taught = 1 / (1 + np.exp(-logits))
    trust = np.where(np.isfinite(pairs.share), pairs.trust, 0)
    share = np.clip(trust * np.nan_to_num(pairs.share) + (1 - trust) * taught, *SHARES)
    order = np.random.default_rng(1).permutation(len(pairs))
    held, kept = np.split(order, [options.held_back])
    whole = np.ones(len(kept), np.float32)
    NumberedPairs(
        pairs.texts, pairs.first[kept], pairs.second[kept], share[kept].astype(np.float32), whole
    ).write(options.output)
    if options.tune:
        write_labelled(options.tune, pairs, held, share)
    print(f"{options.output}: {len(pairs):,} pairs, {share.mean():.1%} the same", flush=True)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    teaching = verbs.add_parser("teach")
    teaching.add_argument("teacher", type=Path, help="a packed folder")
    teaching.add_argument("--dev", type=Path, required=True)
    teaching.add_argument("--name", required=True)
    teaching.add_argument("--epochs", type=int, default=3)
    teaching.add_argument("--batch", type=int, default=256)
    teaching.add_argument("--lr", type=float, default=1e-4)
    teaching.add_argument("--seed", type=int, default=1)
    teaching.add_argument("--processes", type=int, default=8)
    teaching.set_defaults(act=teach)
    joining = verbs.add_parser("join")
    joining.add_argument("logits", type=Path, nargs="+")
    joining.add_argument("--output", type=Path, required=True)
    joining.add_argument("--held-back", type=int, default=0, help="pairs to steer a student by")
    joining.add_argument("--tune", type=Path, help="where those are written, with labels")
    joining.set_defaults(act=join)
    vectors = verbs.add_parser("table")
    vectors.add_argument("teacher", type=Path)
    vectors.add_argument("--size", type=int, default=200)
    vectors.add_argument("--output", type=Path, required=True)
    vectors.set_defaults(act=table)
    for verb in (teaching, joining):
        verb.add_argument("--pairs", type=Path, required=True)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
