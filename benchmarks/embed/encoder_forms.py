"""Sentence encoders in the forms that are compared: bundles, ONNX files, transformers in PyTorch.

Whatever the form, `encode` takes texts and gives vectors of length one, tokenisation included.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime
from benchmarks.embed.sentence_scores import Floats
from tokenizers import Tokenizer

import softquery
from softquery.bundle import Bundle, read_bundle
from softquery.files import fingerprint
from softquery.runtime.batches import length_batches
from softquery.runtime.encode.backend import of_length_one
from softquery.runtime.encode.onnx import BATCH, TOKENS
from softquery.runtime.graph_weights import SCALE

MAX_TOKENS = 256
"""Where MiniLM's folder of sentence-transformers cuts texts."""


class Encoder(Protocol):
    """Anything that gives texts vectors."""

    def encode(self, texts: list[str]) -> Floats:
        """Vectors of length one [N, E]."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a form is on the disk, and what it holds."""

    size_bytes: int
    parameters: int
    precision: str
    fingerprint: str


class OnnxForm:
    """Somebody's graph, from `input_ids` to a vector per token, beside its `tokenizer.json`.

    One text is shared by the threads of ONNX Runtime. Of many, each thread computes batches of its
    own, which is how bundles run as well and is faster than sharing each batch.

    Args:
        path: The graph.
        threads: How many.
    """

    def __init__(self, path: Path, threads: int) -> None:
        self._tokenizer = Tokenizer.from_file(str(path.parent / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._one, self._many = (self._opened(path, number) for number in (threads, 1))
        self._pool = ThreadPoolExecutor(threads)

    @staticmethod
    def _opened(path: Path, threads: int) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def encode(self, texts: list[str]) -> Floats:
        """Vectors of length one."""
        if len(texts) == 1:
            return self._run(self._one, [self._tokenizer.encode(texts[0]).ids])
        rows = [each.ids for each in self._tokenizer.encode_batch_fast(texts)]
        batches = length_batches([len(ids) for ids in rows], most=BATCH, most_tokens=TOKENS)
        batches.reverse()
        parts = self._pool.map(
            lambda batch: self._run(self._many, [rows[row] for row in batch]), batches
        )
        found = dict(zip(map(tuple, batches), parts, strict=True))
        vectors = np.empty((len(texts), next(iter(found.values())).shape[1]), np.float32)
        for batch, part in found.items():
            vectors[list(batch)] = part
        return vectors

    @staticmethod
    def _run(session: Any, rows: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)], mask[place, : len(row)] = row, 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        taken = {each.name: feed[each.name] for each in session.get_inputs()}
        states = session.run(None, taken)[0]
        return of_length_one(np.einsum("bte,bt->be", states, mask.astype(np.float32)))


class TorchForm:
    """A folder of sentence-transformers by transformers in PyTorch, averaged over its tokens.

    Args:
        folder: With weights and tokenizer.
        threads: How many.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        torch.set_num_threads(threads)
        self._torch = torch
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModel.from_pretrained(folder).eval()

    def encode(self, texts: list[str]) -> Floats:
        """Vectors of length one, in batches of texts of like length."""
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        parts = [
            self._run([texts[row] for row in order[start : start + BATCH]])
            for start in range(0, len(order), BATCH)
        ]
        vectors = np.concatenate(parts)
        vectors[order] = vectors.copy()
        return vectors

    def _run(self, texts: list[str]) -> Floats:
        torch = self._torch
        given = self._tokenizer(
            texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            states = self._model(**given).last_hidden_state
            weights = given["attention_mask"][:, :, None].to(states.dtype)
            mixed = (states * weights).sum(dim=1)
            found: Floats = torch.nn.functional.normalize(mixed, dim=1).numpy()
        return found


def open_form(path: str, threads: int) -> Encoder:
    """An `.onnx` beside its tokenizer, or whatever `softquery.load` opens and can encode."""
    if path.endswith(".onnx"):
        return OnnxForm(Path(path), threads)
    model: Any = softquery.load(path, threads=threads)
    return model


def sizes_of(path: str, encoder: Encoder) -> Sizes:
    """Of the file, or of all files of the bundle."""
    if path.endswith(".onnx"):
        from onnx import load as load_graph

        file = Path(path)
        weights = load_graph(file).graph.initializer
        numbers = [each for each in weights if len(each.dims) > 1 or each.data_type == 1]
        is_int8 = any(each.data_type in (2, 3) and len(each.dims) > 1 for each in weights)
        return Sizes(
            file.stat().st_size,
            sum(int(np.prod(each.dims)) for each in numbers),
            "int8" if is_int8 else "float32",
            fingerprint([file]),
        )
    bundle: Bundle = read_bundle(encoder.bundle.path)  # type: ignore[attr-defined]
    weights = bundle.read_weights()
    own = {name: values for name, values in weights.items() if not name.endswith(SCALE)}
    return Sizes(
        sum(file.stat().st_size for file in bundle.path.rglob("*") if file.is_file()),
        sum(values.size for values in own.values()),
        "int8" if any(values.dtype == np.int8 for values in own.values()) else "float32",
        fingerprint([bundle.path / "config.json", bundle.weights_path]),
    )


def hold_threads(threads: int) -> None:
    """Let tokenizers use as many threads as models do; to be called before the first text."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
