"""A BERT's folder as Google published it, with a checkpoint by a writer of our own.

The writer shares no code with the reader: its checksums go bit by bit.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

ROWS = 7
"""Of a block of the index, so that a small checkpoint has several."""
TYPES = {"float32": 1, "float64": 2, "int64": 9, "float16": 19}
_BITS = [0] * 256
for _byte in range(256):
    _value = _byte
    for _ in range(8):
        _value = _value >> 1 ^ (0x82F63B78 if _value & 1 else 0)
    _BITS[_byte] = _value


def masked_crc(data: bytes) -> int:
    """The checksum of bytes as tables store it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _BITS[(value ^ byte) & 0xFF] ^ value >> 8
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    """Seven bits per byte, lowest first."""
    low = bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
    return low + varint(value >> 7) if value > 0x7F else low


def field(number: int, value: int | bytes) -> bytes:
    """A field of a message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(array: Any, offset: int, data: bytes) -> bytes:
    """What the index says of a tensor."""
    sizes = b"".join(field(2, field(1, size)) for size in array.shape)
    fields = [field(1, TYPES[array.dtype.name]), field(2, sizes), field(4, offset)]
    checksum = varint(6 << 3 | 5) + struct.pack("<I", masked_crc(data))
    return b"".join([*fields, field(5, len(data)), checksum])


def block(rows: list[tuple[bytes, bytes]]) -> bytes:
    """Sorted rows, each key without what it shares with the one before, and the trailer."""
    data, last = b"", b""
    for key, value in rows:
        shared = next((i for i, (a, b) in enumerate(zip(key, last)) if a != b),  # noqa: B905
                      min(len(key), len(last)))  # fmt: skip
        data += varint(shared) + varint(len(key) - shared) + varint(len(value))
        data += key[shared:] + value
        last = key
    data += struct.pack("<II", 0, 1) + b"\0"
    return data + struct.pack("<I", masked_crc(data))


def write_checkpoint(index: Path, tensors: dict[str, Any]) -> Path:
    """Write `NAME.index` and `NAME.data-00000-of-00001`."""
    data, rows = b"", [(b"", field(1, 1) + field(3, field(1, 1)))]
    for name in sorted(tensors):
        own = tensors[name].tobytes()
        rows.append((name.encode(), entry(tensors[name], len(data), own)))
        data += own
    index.with_suffix(".data-00000-of-00001").write_bytes(data)
    table, handles = b"", []
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        packed = block(part)
        handles.append((part[-1][0], varint(len(table)) + varint(len(packed) - 5)))
        table += packed
    ends = b""
    for each in (block([]), block(handles)):
        ends += varint(len(table)) + varint(len(each) - 5)
        table += each
    index.write_bytes(table + ends.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57))
    return index


def google_tensors(folder: Path) -> dict[str, Any]:
    """The weights of a folder of `transformers` by Google's names."""
    found = {}
    for name, array in load_file(folder / "model.safetensors").items():
        path = name.replace("encoder.layer.", "encoder.layer_").split(".")
        *path, last = path
        if path[0] not in ("bert", "cls"):
            path = ["bert", *path]
        if path[-1] == "LayerNorm":
            last = {"weight": "gamma", "bias": "beta"}[last]
        elif path in (["cls", "seq_relationship"], ["cls", "predictions"]):
            last = {"weight": "output_weights", "bias": "output_bias"}[last]
        elif path[-1].endswith("_embeddings"):
            path, last = path[:-1], path[-1]
        elif last == "weight":
            last, array = "kernel", np.ascontiguousarray(array.T)
        found["/".join([*path, last])] = array
    return found


def write_google_folder(
    transformers: Path, folder: Path, extra: dict[str, Any] | None = None
) -> Path:
    """The same model as Google would have published it, with an optimiser's leavings."""
    folder.mkdir()
    config = json.loads((transformers / "config.json").read_text())
    kept = ("attention_probs_dropout_prob", "hidden_act", "hidden_dropout_prob", "hidden_size",
            "initializer_range", "intermediate_size", "max_position_embeddings", "vocab_size",
            "num_attention_heads", "num_hidden_layers", "type_vocab_size")  # fmt: skip
    (folder / "bert_config.json").write_text(json.dumps({name: config[name] for name in kept}))
    (folder / "vocab.txt").write_text((transformers / "vocab.txt").read_text())
    tensors = google_tensors(transformers) | {
        "global_step": np.array(7, np.int64),
        "bert/pooler/dense/bias/adam_m": np.zeros(3, np.float32),
    }
    write_checkpoint(folder / "bert_model.ckpt.index", tensors | (extra or {}))
    return folder
