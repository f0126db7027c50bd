"""Converts published ELMo weights (`lm_weights.hdf5`, `options.json`) to a bundle and back.

Needs h5py, the extra `[hdf5]`, and no torch.
"""

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from softquery import __version__
from softquery.atomic import write_atomically
from softquery.bundle import Bundle, BundleConfig, Card, make_card, write_bundle
from softquery.errors import BundleError, InputError, MissingExtra
from softquery.files import write_json
from softquery.interop.elmo_files import (
    Array,
    ElmoOptions,
    join_biases,
    published_arrays,
    read_options,
)
from softquery.runtime.embed.elmo import WORDS
from softquery.runtime.graph_weights import dequantised
from softquery.text import TextConfig, pipeline_from_words

NAME = "elmo"
PROJECTION = ("CNN_proj/W_proj", "CNN_proj/b_proj")


def import_elmo(
    weights: str | PathLike[str], options: str | PathLike[str], output: str | PathLike[str]
) -> Path:
    """Write published weights as a bundle, which embeds text and can be fine-tuned.

    Args:
        weights: The HDF5 file of a model of any size, with or without residual connections.
        options: The JSON file of the same model.
        output: The bundle to write; it must not exist.

    Raises:
        InputError: If an array is missing or misshapen, or anything else does not fit.
    """
    sizes = read_options(options)
    if not sizes.projection_size < sizes.hidden_size:
        raise InputError(
            f"lstm.projection_dim ({sizes.projection_size}) must be below lstm.dim "
            f"({sizes.hidden_size})",
            source=options,
        )
    ours = _read_weights(weights, sizes)
    pipeline = pipeline_from_words(
        [], TextConfig(unicode_form="NFC", lowercase=False, boundaries=True, max_tokens=1024)
    )
    return write_bundle(
        output,
        config=BundleConfig(
            kind="embedder",
            model={"name": NAME, "config": sizes.to_config()},
            task={"name": "language-model"},
            text=pipeline.config.to_dict(),
            library_version=__version__,
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights=ours,
        metrics={},
        card=_card(Path(output).name, sizes, weights),
    )


def publish_elmo(
    bundle: Bundle, *, weights: str | PathLike[str], options: str | PathLike[str]
) -> None:
    """Write the biLM of a bundle in the published format, which omits the softmax.

    Args:
        bundle: A bundle of an ELMo.
        weights: The HDF5 file to write.
        options: The JSON file to write.
    """
    if bundle.config.model["name"] != NAME:
        raise BundleError(f"{bundle.path}: expected an elmo, found {bundle.config.model['name']!r}")
    if bundle.config.model["config"].get("reads") == WORDS:
        raise BundleError(
            f"{bundle.path}: looks words up in a table; the published form reads characters"
        )
    try:
        sizes = ElmoOptions.from_config(bundle.config.model["config"])
    except (KeyError, TypeError) as error:
        raise BundleError(f"{bundle.path / 'config.json'}: does not fit ({error})") from None
    stored: dict[str, Any] = dequantised(bundle.read_weights())
    arrays: dict[str, Array] = {}
    for published in published_arrays(sizes):
        try:
            array = published.array(stored)
        except KeyError as error:
            raise BundleError(f"{bundle.weights_path}: {error.args[0]} is missing") from None
        if array.shape != published.shape:
            raise BundleError(f"{bundle.weights_path}: {published.name} does not fit config.json")
        arrays[published.name] = np.ascontiguousarray(array, dtype=np.float32)
    _write_hdf5(weights, arrays)
    write_json(options, sizes.to_published())


def _read_weights(path: str | PathLike[str], sizes: ElmoOptions) -> dict[str, Array]:
    arrays = _read_hdf5(path)
    if sizes.num_filters == sizes.projection_size and not set(PROJECTION) & set(arrays):
        # The filters have the width of the projection, so it was omitted: it is the identity.
        arrays[PROJECTION[0]] = np.eye(sizes.num_filters, dtype=np.float32)
        arrays[PROJECTION[1]] = np.zeros(sizes.num_filters, dtype=np.float32)
    ours: dict[str, Array] = {}
    for published in published_arrays(sizes):
        array = arrays.get(published.name)
        if array is None:
            raise InputError(f"the array {published.name} is missing", source=path)
        if array.shape != published.shape:
            raise InputError(
                f"the array {published.name} has the shape {array.shape}, but by the options it "
                f"should be {published.shape}",
                source=path,
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise InputError(
                f"the array {published.name} holds values that are not finite numbers", source=path
            )
        ours.update(published.weights(array.astype(np.float32)))
    return join_biases(ours)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("hdf5", needed_for="reading and writing HDF5 files") from None
    return h5py


def _read_hdf5(path: str | PathLike[str]) -> dict[str, Any]:
    """The arrays of a file, by their paths."""
    h5py = _h5py()
    arrays: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[...]

    try:
        with h5py.File(fspath(path), "r") as file:
            file.visititems(visit)
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        reason = str(error).partition(" (")[0]
        raise InputError(f"not a readable HDF5 file ({reason})", source=path) from None
    return arrays


def _write_hdf5(path: str | PathLike[str], arrays: Mapping[str, Array]) -> None:
    h5py = _h5py()
    with write_atomically(path, "wb") as handle, h5py.File(handle, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)


def _card(name: str, sizes: ElmoOptions, weights: str | PathLike[str]) -> str:
    card = Card(
        name=name,
        purpose="Contextual word vectors from a pretrained biLM (ELMo).",
        languages=[],
        licence="unstated",
        data=[],
        training={
            "imported from": Path(weights).name,
            "width of a vector": 2 * sizes.projection_size,
            "LSTM layers": sizes.num_layers,
        },
        numbers=[],
        limits=["Imported: what it was trained on, and under which licence, is not recorded."],
    )
    return make_card(card, kind="embedder")
