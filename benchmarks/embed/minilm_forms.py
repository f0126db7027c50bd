r"""Make what sentence encoders are compared with: MiniLM in several forms, and a static table.

    python benchmarks embed minilm_forms all-MiniLM-L6-v2/ --pairs stsb_en/train.tsv.xz \
        --text requests_en.txt.xz --output forms/

Writes, below the output:

- `minilm`: the folder as `softquery import sentence-transformers` writes it;
- `minilm-int8`: that by `softquery export --int8`, kept behind the gate on `--pairs`;
- `optimised-int8/model.onnx`: ONNX Runtime's transformer optimiser on the graph that torch exports,
  then its dynamic quantisation, per channel;
- `table`, `table-int8`: a table as model2vec makes it. Every sub-word is encoded by itself, the
  vectors are turned along their principal axes and cut to 256, and each is weighed by
  a / (a + p), p its share of the sub-words of `--text` (Arora et al. 2017, Eq. 1 with a = 1e-3).

What is there is not made again. `forms.json` says what the gate measured.
"""

import argparse
import json
import shutil
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.embed.sentence_scores import Floats
from safetensors.numpy import save_file

from softquery.bundle import read_bundle
from softquery.export import export_sentence_encoder
from softquery.files import Row, read_rows, read_texts, write_json
from softquery.interop import import_sentence_transformers
from softquery.interop.static_table import import_static
from softquery.runtime.encode.model import SentenceEncoder, load_sentence_encoder

WIDTH = 256
SMOOTHING = 1e-3
"""a of the weight of a sub-word: those with this share of the text weigh one half."""
GATE_ROWS = 2000
"""At most; of more, every second, third, ... is taken."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def main() -> None:
    options = parsed()
    options.output.mkdir(parents=True, exist_ok=True)
    rows = list(read_rows(options.pairs, columns=("sentence1", "sentence2", "label")))
    rows = rows[:: -(-len(rows) // GATE_ROWS)]
    minilm = options.output / "minilm"
    if not minilm.exists():
        plain = import_sentence_transformers(options.folder, options.output / "minilm-plain")
        export_sentence_encoder(read_bundle(plain), minilm)
    quantised(minilm, options.output / "minilm-int8", rows)
    optimised(options.folder, options.output / "optimised-int8")
    table = options.output / "table"
    if not table.exists():
        write_table(minilm, options.text, options.folder, table)
    quantised(table, options.output / "table-int8", rows)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="all-MiniLM-L6-v2 of sentence-transformers")
    parser.add_argument("--pairs", type=Path, required=True, help="graded pairs for the gate")
    parser.add_argument("--text", type=Path, required=True, help="lines, for frequencies")
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


def quantised(source: Path, output: Path, rows: Sequence[Row]) -> None:
    """An int8 bundle, and what it cost."""
    if output.exists():
        return
    report = export_sentence_encoder(read_bundle(source), output, int8=True, rows=rows)
    told = output.parent / "forms.json"
    known = json.loads(told.read_text()) if told.exists() else {}
    gate = None if report.gate is None else {
        "metric": report.gate.metric, "n": len(rows), "lost_points": report.gate.lost_points,
    }  # fmt: skip
    known[output.name] = {"precision": report.precision, "gate": gate}
    write_json(told, known)
    print(output.name, known[output.name], flush=True)


def optimised(folder: Path, output: Path) -> None:
    """MiniLM as ONNX Runtime's own tools make it fastest."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model

    if output.exists():
        return
    scratch = output.with_name(f"{output.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    export_by_torch(folder, scratch / "plain.onnx")
    fused = optimize_model(
        str(scratch / "plain.onnx"),
        model_type="bert",
        num_heads=settings["num_attention_heads"],
        hidden_size=settings["hidden_size"],
    )
    print("fused:", {name: n for name, n in fused.get_fused_operator_statistics().items() if n})
    fused.save_model_to_file(str(scratch / "fused.onnx"))
    quantize_dynamic(
        scratch / "fused.onnx",
        scratch / "model.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    for name in ("plain.onnx", "fused.onnx"):
        (scratch / name).unlink()
    shutil.copy(folder / "tokenizer.json", scratch)
    scratch.rename(output)


def export_by_torch(folder: Path, path: Path) -> None:
    """The graph as torch traces it; eager attention has the nodes that the optimiser knows."""
    import torch
    from transformers import AutoModel

    encoder = AutoModel.from_pretrained(
        folder, attn_implementation="eager", add_pooling_layer=False
    ).eval()

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, *given: torch.Tensor) -> Any:
            return self.encoder(**dict(zip(INPUTS, given, strict=True)), return_dict=False)[0]

    ids = torch.ones(2, 9, dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            States(),
            (ids, ids, torch.zeros_like(ids)),
            str(path),
            input_names=list(INPUTS),
            output_names=["states"],
            dynamic_axes=dict.fromkeys((*INPUTS, "states"), {0: "batch", 1: "tokens"}),
            opset_version=14,
            dynamo=False,
        )


def write_table(teacher: Path, text: Path, folder: Path, output: Path) -> None:
    """A folder as model2vec writes it, then the bundle of it."""
    encoder = load_sentence_encoder(teacher)
    vectors = principal(piece_vectors(encoder), WIDTH)
    weights = piece_weights(piece_counts(encoder, text), len(vectors))
    theirs = output.with_name(f"{output.name}-model2vec")
    theirs.mkdir(exist_ok=True)
    save_file({"embeddings": vectors * weights[:, None]}, theirs / "model.safetensors")
    write_json(theirs / "config.json", {"normalize": True})
    shutil.copy(folder / "tokenizer.json", theirs)
    plain = import_static(theirs, output.with_name(f"{output.name}-plain"))
    export_sentence_encoder(read_bundle(plain), output)


def piece_vectors(encoder: SentenceEncoder) -> Floats:
    """Each sub-word by itself, between the marks of a sentence: [V, E]."""
    start, *_, end = encoder.pipeline.encode_ids(["a"])[0]
    return encoder.backend.vectors(
        [[start, piece, end] for piece in range(encoder.pipeline.vocab_size)]
    )


def principal(vectors: Floats, width: int) -> Floats:
    """Vectors [V, E], centred, along their first principal axes [V, width].

    >>> np.abs(principal(np.array([[0.0, 3.0], [0.0, 1.0]], np.float32), 1)).tolist()
    [[1.0], [1.0]]
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :width]
    return (centred @ axes).astype(np.float32)


def piece_counts(encoder: SentenceEncoder, text: Path) -> Counter[int]:
    """How often each sub-word stands in a text."""
    counts: Counter[int] = Counter()
    lines = list(read_texts([text]))
    for start in range(0, len(lines), 4096):
        for ids in encoder.pipeline.encode_ids(lines[start : start + 4096]):
            counts.update(ids[1:-1])
    return counts


def piece_weights(counts: Counter[int], size: int) -> Floats:
    """What each sub-word weighs: the more frequent, the less.

    >>> piece_weights(Counter({0: 999, 1: 1}), 3).round(3).tolist()
    [0.0010000000474974513, 0.5, 1.0]
    """
    total = counts.total()
    shares = np.array([counts[piece] / total for piece in range(size)])
    return (SMOOTHING / (SMOOTHING + shares)).astype(np.float32)


if __name__ == "__main__":
    main()
