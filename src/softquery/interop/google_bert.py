"""A BERT as Google published it: a TensorFlow checkpoint, `bert_config.json` and `vocab.txt`.

Needs neither TensorFlow nor torch. The names of tensors follow those of `transformers`, which were
made from them; matrices are the other way round.
"""

import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from softquery.errors import InputError
from softquery.files import open_text
from softquery.interop.bert_config import names
from softquery.interop.bert_tokenizer import VOCABULARY
from softquery.interop.published_weights import WEIGHTS, Named
from softquery.interop.tensorflow_checkpoint import read_checkpoint

SETTINGS: Final = "bert_config.json"
INDEX: Final = "bert_model.ckpt.index"
PARTS: Final = ("bert/", "cls/")
"""How the names begin that belong to the model, and not to its optimiser."""
_WHOLE: Final = {
    "cls.predictions.bias": "cls/predictions/output_bias",
    "cls.seq_relationship.weight": "cls/seq_relationship/output_weights",
    "cls.seq_relationship.bias": "cls/seq_relationship/output_bias",
}
"""Names that follow no rule."""


def checkpoint_of(folder: Path) -> Path | None:
    """The index of the checkpoint of a folder that has no weights as safetensors."""
    if (folder / WEIGHTS).exists():
        return None
    found = sorted(folder.glob("*.index"))
    if folder / INDEX in found or len(found) < 2:
        return folder / INDEX if folder / INDEX in found else next(iter(found), None)
    raise InputError(
        f"holds {len(found)} checkpoints, none of them {INDEX}: {', '.join(p.name for p in found)}",
        source=folder,
    )


def read_google_tensors(index: Path) -> dict[str, Any]:
    """The tensors of the model by their names in the checkpoint."""
    # Moments that Adam keeps of each weight are named after it.
    return read_checkpoint(
        index, lambda name: name.startswith(PARTS) and "adam_" not in name.rpartition("/")[2]
    )


def google_names(config: dict[str, Any]) -> Iterator[Named]:
    """The name in the checkpoint, the name here, and the shape there of every weight."""
    for theirs, ours, shape in names(config):
        name = google_name(theirs)
        yield name, ours, shape[::-1] if is_turned(name) else shape


def google_name(name: str) -> str:
    """The name in a checkpoint of what `transformers` calls by this name, without prefix.

    >>> google_name("encoder.layer.0.attention.self.query.weight")
    'bert/encoder/layer_0/attention/self/query/kernel'
    >>> google_name("embeddings.LayerNorm.bias")
    'bert/embeddings/LayerNorm/beta'
    """
    if name in _WHOLE:
        return _WHOLE[name]
    *path, last = re.sub(r"layer\.(\d+)", r"layer_\1", name).split(".")
    if path[-1] == "LayerNorm":
        last = {"weight": "gamma", "bias": "beta"}[last]
    elif last == "weight":
        last = "" if path[-1].endswith("_embeddings") else "kernel"
    root = [] if path[0] == "cls" else ["bert"]
    return "/".join([*root, *path, *([last] if last else [])])


def is_turned(name: str) -> bool:
    """Whether a tensor of the checkpoint is a matrix from inputs to outputs."""
    return name.endswith("/kernel")


def is_cased(folder: Path) -> bool:
    """Whether a vocabulary tells upper from lower case, which the folder does not say elsewhere."""
    path = folder / VOCABULARY
    if not path.exists():
        raise InputError("no such file", source=path)
    with open_text(path) as lines:
        return set(string.ascii_uppercase) <= {line.rstrip("\n") for line in lines}
