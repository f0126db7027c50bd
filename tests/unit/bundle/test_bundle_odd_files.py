"""Files of a bundle that are no plain files, or promise more than they hold."""

import json
import os

import pytest

from softquery.bundle import read_bundle
from softquery.errors import BundleError
from softquery.zoo.glance import glance_card, glance_json

GIANT = 20 << 30
SMALL = ["config.json", "metrics.json", "calibration.json", "README.md"]


def make_giant(path):
    """A file of 20 GB that takes no room."""
    with open(path, "wb") as file:
        file.truncate(GIANT)


@pytest.mark.parametrize("name", SMALL)
def test_a_giant_is_refused_unread(folder, name):
    make_giant(folder / name)
    with pytest.raises(BundleError, match=rf"{name}: is larger than 16,777,216 bytes$"):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "source_tokenizer.json"])
def test_a_giant_vocabulary_is_refused_unread(folder, name):
    make_giant(folder / name)
    with pytest.raises(BundleError, match=rf"{name}: is larger than 268,435,456 bytes$"):
        read_bundle(folder)


def test_giant_weights_of_holes_are_refused(folder):
    shape = [GIANT // 4]
    header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, GIANT]}})
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header.encode())
        file.truncate(8 + len(header) + GIANT)
    with pytest.raises(BundleError, match=r"model\.safetensors: was hardly written to: a sparse"):
        read_bundle(folder)


@pytest.mark.parametrize("name", [*SMALL, "tokenizer.json", "model.safetensors"])
def test_a_pipe_is_not_waited_for(folder, name):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(BundleError, match=rf"{name}: is not a file$"):
        read_bundle(folder)


def test_a_glance_reads_no_giants_and_waits_for_no_pipes(tmp_path):
    make_giant(tmp_path / "giant")
    os.mkfifo(tmp_path / "pipe")
    for glance in (glance_json, glance_card):
        with pytest.raises(BundleError, match="giant: is larger than 16,777,216 bytes"):
            glance(tmp_path / "giant")
        with pytest.raises(BundleError, match="pipe: is not a file"):
            glance(tmp_path / "pipe")
