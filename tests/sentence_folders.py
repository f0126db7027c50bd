"""Small folders as other tools write them: of sentence-transformers, of model2vec, cross-encoders.

The weights are random, and made by `transformers`, which is what answers are compared with.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from softquery.text import BERT_RESERVED

LETTERS = [*"abcdefghij", "##x", "##y", "##z", "the", "cat", "sat", "我", "!", "[", "]", "<", ">"]
MPNET_MARKS = ("<s>", "<pad>", "</s>", "<unk>")
SIZES = {
    "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.3,
}  # fmt: skip
LIMIT = 20
TEXTS = [
    "", " ", "a", "the cat sat", "The CAT sat!", "axyz bz qqq", "我 a 我", "\u200b\x00", "é b́",
    "[MASK] a [SEP]", "<s> a <pad> b </s>", "the " * 40, "a b c d e f g h i j a b c d e f g h i j",
]  # fmt: skip
"""Nothing, capitals, unknown words, control characters, marks, and texts beyond the limit."""
TYPE = "sentence_transformers.models."


def write_json(path: Path, content: object) -> None:
    """Write a JSON file into a folder that may not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def word_pieces(pieces: list[str], *, lowercase: bool = True) -> Tokenizer:
    """A tokenizer as BERT's, without marks."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def bert_tokenizer(*, lowercase: bool = True) -> Tokenizer:
    """Of a BERT: `[CLS] ... [SEP]`."""
    pieces = [*BERT_RESERVED, *LETTERS]
    tokenizer = word_pieces(pieces, lowercase=lowercase)
    tokenizer.add_special_tokens(list(BERT_RESERVED))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, pieces.index(mark)) for mark in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    return tokenizer


def mpnet_tokenizer() -> Tokenizer:
    """Of an MPNet: `<s> ... </s>`, with BERT's marks as plain pieces."""
    pieces = [*MPNET_MARKS, *BERT_RESERVED, *LETTERS, "<mask>"]
    tokenizer = word_pieces(pieces)
    tokenizer.add_special_tokens([*MPNET_MARKS, "[UNK]", "<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def random_model(kind: str, *, seed: int = 1, num_labels: int = 2) -> transformers.PreTrainedModel:
    """A model of `transformers`: `bert`, `mpnet` or `cross-encoder`."""
    torch.manual_seed(seed)
    if kind == "mpnet":
        size = mpnet_tokenizer().get_vocab_size()
        made = transformers.MPNetModel(
            transformers.MPNetConfig(vocab_size=size, max_position_embeddings=34, **SIZES)
        )
    else:
        config = transformers.BertConfig(
            vocab_size=bert_tokenizer().get_vocab_size(), max_position_embeddings=32,
            num_labels=num_labels, **SIZES,
        )  # fmt: skip
        is_cross = kind == "cross-encoder"
        wanted = transformers.BertForSequenceClassification if is_cross else transformers.BertModel
        made = wanted(config)
    with torch.no_grad():
        for parameter in made.parameters():  # biases and normalisations are not tried by zeros
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made.eval()


def write_sentence_folder(
    folder: Path,
    kind: str = "bert",
    *,
    pools: tuple[str, ...] = ("mean_tokens",),
    dense: str | None = None,
    normalise: bool = True,
    lowercase: bool = True,
    **reading: Any,
) -> Path:
    """A folder of sentence-transformers.

    Args:
        folder: Where it goes.
        kind: `bert` or `mpnet`.
        pools: As older configs call them behind `pooling_mode_`.
        dense: The class of the activation of a linear layer, where there is one.
        normalise: Whether there is a module for it.
        lowercase: Of the tokenizer.
        reading: Changes of `sentence_bert_config.json`.
    """
    random_model(kind).save_pretrained(folder)
    made = mpnet_tokenizer() if kind == "mpnet" else bert_tokenizer(lowercase=lowercase)
    made.save(str(folder / "tokenizer.json"))
    settings = {"max_seq_length": LIMIT, "do_lower_case": False, **reading}
    write_json(folder / "sentence_bert_config.json", settings)
    size = SIZES["hidden_size"]
    switches = {f"pooling_mode_{pool}": True for pool in pools}
    unused = {"pooling_mode_mean_tokens": False}
    write_json(folder / "1_Pooling" / "config.json",
               {"word_embedding_dimension": size, **unused, **switches})  # fmt: skip
    names = ["Transformer", "Pooling"]
    if dense is not None:
        names.append("Dense")
        write_dense(folder / "2_Dense", size * len(pools), activation=dense)
    names += ["Normalize"] if normalise else []
    modules = [
        {"idx": place, "name": str(place), "type": TYPE + name,
         "path": f"{place}_{name}" if place else ""}
        for place, name in enumerate(names)
    ]  # fmt: skip
    write_json(folder / "modules.json", modules)
    return folder


def write_dense(folder: Path, input_size: int, *, activation: str, output_size: int = 5) -> None:
    """A linear layer with random weights."""
    config = {"in_features": input_size, "out_features": output_size, "bias": True,
              "activation_function": activation}  # fmt: skip
    write_json(folder / "config.json", config)
    draw = np.random.default_rng(3)
    weights = {
        "linear.weight": draw.normal(size=(output_size, input_size)).astype(np.float32),
        "linear.bias": draw.normal(size=output_size).astype(np.float32),
    }
    save_file(weights, folder / "model.safetensors")


def write_cross_encoder(folder: Path, *, num_labels: int = 1) -> Path:
    """A folder of a cross-encoder, as sentence-transformers saves one."""
    random_model("cross-encoder", num_labels=num_labels).save_pretrained(folder)
    bert_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


STATIC_PIECES = ["[PAD]", "[UNK]", *LETTERS]


def write_static(
    folder: Path, *, dtype: type = np.float32, extra: dict[str, Any] | None = None, **changes: Any
) -> Path:
    """A folder of model2vec; `extra` are more tensors, `changes` those of `config.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    word_pieces(STATIC_PIECES).save(str(folder / "tokenizer.json"))
    write_json(folder / "config.json", {"model_type": "model2vec", "normalize": True, **changes})
    draw = np.random.default_rng(5)
    table = draw.normal(size=(len(STATIC_PIECES), 6))
    table = (table * 20).round() if np.issubdtype(dtype, np.integer) else table
    save_file({"embeddings": table.astype(dtype), **(extra or {})}, folder / "model.safetensors")
    return folder
