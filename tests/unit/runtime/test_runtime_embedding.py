"""Vectors of many rows: streamed, kept when a run stops, gone on with byte for byte."""

import shutil
from itertools import islice

import numpy as np
import pytest

from softquery.errors import ConfigError, InputError
from softquery.files import Sentence
from softquery.runtime import open_embedder
from softquery.runtime.embed.model import CHUNK_LINES
from softquery.runtime.embed.vector_output import embed_rows

WORDS = ["the", "cat", "sat", "on", "mat", "dog", "ran", "unheard-of", "漢字"]
DRAW = np.random.default_rng(2)
LINES = [" ".join(DRAW.choice(WORDS, n)) for n in DRAW.integers(0, 30, 2 * CHUNK_LINES + 90)]
ROWS = [Sentence(line, number, "lines.txt") for number, line in enumerate(LINES, 1)]
ABOUT = 40
"""Rows of a small run."""


@pytest.fixture(scope="module")
def embedder(elmo_bundle):
    return open_embedder(elmo_bundle, threads=1)


@pytest.fixture(scope="module")
def whole(embedder, tmp_path_factory):
    """The bytes of an uninterrupted run."""
    output = tmp_path_factory.mktemp("whole") / "out.npz"
    told = []
    result = embed_rows(embedder, ROWS, output, advance=told.append)
    assert (result.num_rows, result.num_resumed, result.num_cut) == (len(ROWS), 0, 0)
    assert result.num_tokens == sum(map(len, embedder.tokens(LINES)))
    assert told[-1] == len(ROWS)
    assert told == sorted(told)
    return output.read_bytes()


def stopping(count, error=KeyboardInterrupt):
    """Some rows, and then an end."""
    yield from islice(ROWS, count)
    raise error


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupted(embedder, output, count, **options):
    with pytest.raises(KeyboardInterrupt):
        embed_rows(embedder, stopping(count), output, **options)


def test_arrays_are_those_of_embed(embedder, whole, tmp_path):
    (tmp_path / "out.npz").write_bytes(whole)
    with np.load(tmp_path / "out.npz") as opened:
        assert opened.files == [f"arr_{place}" for place in range(len(LINES))]
        for place, wanted in enumerate(embedder.embed(LINES)):
            np.testing.assert_allclose(opened[f"arr_{place}"], wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, CHUNK_LINES, CHUNK_LINES + 3, 2 * CHUNK_LINES + 1])
def test_an_interrupted_run_goes_on(embedder, whole, tmp_path, count):
    output = tmp_path / "out.npz"
    interrupted(embedder, output, count)
    kept = [] if count < CHUNK_LINES else ["out.npz.partial", "out.npz.partial.json"]
    assert names(tmp_path) == kept
    result = embed_rows(embedder, ROWS, output)
    assert 0 <= result.num_resumed <= count
    assert (result.num_resumed > 0) == (count >= CHUNK_LINES)
    assert output.read_bytes() == whole
    assert names(tmp_path) == ["out.npz"]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.999])
def test_a_kill_in_the_middle_of_a_write(embedder, whole, tmp_path, share):
    output, partial = tmp_path / "out.npz", tmp_path / "out.npz.partial"
    interrupted(embedder, output, 2 * CHUNK_LINES)
    content = partial.read_bytes()
    partial.write_bytes(content[: int(share * len(content))])
    embed_rows(embedder, ROWS, output)
    assert output.read_bytes() == whole


def test_even_a_finished_one_that_never_got_its_name(embedder, whole, tmp_path):
    output = tmp_path / "out.npz"
    interrupted(embedder, output, len(ROWS))
    (tmp_path / "out.npz.partial").write_bytes(whole)
    embed_rows(embedder, ROWS, output)
    assert output.read_bytes() == whole


def test_rows_that_changed_are_told(embedder, tmp_path):
    output = tmp_path / "out.npz"
    interrupted(embedder, output, CHUNK_LINES + 1)
    other = [*ROWS[:7], Sentence("another line", 8, "lines.txt"), *ROWS[8:]]
    with pytest.raises(InputError, match=r"^lines\.txt, row 8: is not the row that was embedded"):
        embed_rows(embedder, other, output)
    assert (tmp_path / "out.npz.partial").exists()
    repaired = [*ROWS[:-1], Sentence("another line", len(ROWS), "lines.txt")]
    assert embed_rows(embedder, repaired, output).num_resumed > 0


@pytest.mark.parametrize(
    "options", [{"layers": "top"}, {"precision": "float16"}, {"state": "carried"}]
)
def test_other_options_are_another_file(embedder, tmp_path, options):
    output = tmp_path / "out.npz"
    interrupted(embedder, output, CHUNK_LINES + 1)
    with pytest.raises(InputError, match=r"was written with another model, backend or options;"):
        embed_rows(embedder, ROWS, output, **options)


def test_another_model_is_another_file(embedder, elmo_bundle, tmp_path):
    interrupted(embedder, tmp_path / "out.npz", CHUNK_LINES + 1)
    copy = shutil.copytree(elmo_bundle, tmp_path / "model")
    (copy / "config.json").write_text((copy / "config.json").read_text() + "\n")
    with pytest.raises(InputError, match=r"was written with another model, backend or options;"):
        embed_rows(open_embedder(copy), ROWS, tmp_path / "out.npz")


def test_a_state_is_come_to_again(embedder, tmp_path):
    rows = ROWS[: CHUNK_LINES + ABOUT]
    embed_rows(embedder, rows, tmp_path / "whole.npz", state="carried", layers="top")
    output = tmp_path / "out.npz"
    interrupted(embedder, output, CHUNK_LINES + 1, state="carried", layers="top")
    result = embed_rows(embedder, rows, output, state="carried", layers="top")
    assert result.num_resumed == CHUNK_LINES
    assert output.read_bytes() == (tmp_path / "whole.npz").read_bytes()
    fresh = embedder.embed(LINES[:2], layers="top")
    with np.load(output) as opened:
        np.testing.assert_allclose(opened["arr_0"], fresh[0], rtol=0, atol=1e-6)
        assert np.abs(opened["arr_1"] - fresh[1]).max() > 1e-4


@pytest.mark.parametrize("layers", ["mix", "top", 1])
def test_layers_and_precision(embedder, tmp_path, layers):
    output = tmp_path / "out.npz"
    embed_rows(embedder, ROWS[:ABOUT], output, layers=layers, precision="float16")
    with np.load(output) as opened:
        for place, wanted in enumerate(embedder.embed(LINES[:ABOUT], layers=layers)):
            assert opened[f"arr_{place}"].dtype == np.float16
            np.testing.assert_allclose(opened[f"arr_{place}"], wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_parquet(embedder, tmp_path, precision):
    parquet = pytest.importorskip("pyarrow.parquet")
    output = tmp_path / "out.parquet"
    rows = ROWS[: CHUNK_LINES + ABOUT]
    embed_rows(embedder, rows, output, precision=precision)
    table = parquet.read_table(output)
    assert table.column_names == ["row", "tokens", "vectors"]
    assert table["row"].to_pylist() == [row.number for row in rows]
    assert table["tokens"].to_pylist() == embedder.tokens([row.text for row in rows])
    assert names(tmp_path) == ["out.parquet"]
    kind = np.dtype(precision)
    for found, wanted in zip(
        table["vectors"].to_pylist(), embedder.embed([row.text for row in rows]), strict=True
    ):
        array = np.array(found, kind).reshape(wanted.shape)
        assert len(found) == 3
        np.testing.assert_allclose(
            array, wanted, rtol=1e-3, atol=1e-4 if kind.itemsize == 2 else 1e-6
        )


def test_an_interrupted_parquet_leaves_nothing(embedder, tmp_path):
    pytest.importorskip("pyarrow")
    interrupted(embedder, tmp_path / "out.parquet", CHUNK_LINES + 1)
    assert names(tmp_path) == []


def test_long_rows_are_cut_and_counted(embedder, tmp_path):
    rows = [Sentence(["a"] * 1000, 1, "x"), Sentence("a b", 2, "x")]
    result = embed_rows(embedder, rows, tmp_path / "out.npz")
    assert (result.num_cut, result.num_tokens) == (1, embedder.max_tokens + 2)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("out.txt", r"out\.txt: vectors are written as \.npz or \.parquet; name the output so$"),
        ("none/out.npz", r"none/out\.npz: cannot be written \(no such folder\)$"),
        ("there.npz", r"there\.npz: already exists; name another --output, or remove it$"),
    ],
)
def test_places_that_cannot_be(embedder, tmp_path, name, match):
    (tmp_path / "there.npz").write_bytes(b"mine")
    with pytest.raises(InputError, match=match):
        embed_rows(embedder, ROWS, tmp_path / name)
    assert names(tmp_path) == ["there.npz"]


def test_a_layer_that_is_not_there_leaves_nothing(embedder, tmp_path):
    with pytest.raises(ConfigError, match="^the model has layers 0 to 2, got 7$"):
        embed_rows(embedder, ROWS, tmp_path / "out.npz", layers=7)
    assert names(tmp_path) == []
