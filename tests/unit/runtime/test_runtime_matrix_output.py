"""Sentence vectors of a file: a whole matrix or none, resumed to the same bytes."""

import numpy as np
import pytest

import softquery as sq
from small_sentence_encoders import make_sentence_encoder, random_sentences
from softquery.errors import ConfigError, InputError
from softquery.files import Sentence
from softquery.runtime.encode.matrix_output import encode_rows

FORMS = ("v.npy", "v.npz", "v.parquet")


class Killed(BaseException):
    """The run ended here."""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return sq.load(make_sentence_encoder(tmp_path_factory.mktemp("matrix") / "model"))


def rows_of(texts):
    return [Sentence(text, number, "lines.txt") for number, text in enumerate(texts, 1)]


def killed_at(count):
    def advance(done):
        if done >= count:
            raise Killed

    return advance


def matrix(path):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        return np.load(path)["vectors"]
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    assert table["row"].to_pylist() == list(range(1, table.num_rows + 1))
    width = table.schema.field("vector").type.list_size
    return np.array(table["vector"].to_pylist(), dtype=np.float32).reshape(-1, width)


@pytest.mark.parametrize("name", FORMS)
def test_every_row_has_its_vector(name, encoder, tmp_path):
    texts = [*random_sentences(20), "", "wa " * 100]
    told = []
    result = encode_rows(encoder, rows_of(texts), tmp_path / name, advance=told.append)
    np.testing.assert_array_equal(matrix(tmp_path / name), encoder.encode(texts))
    assert (result.num_rows, result.width, result.num_resumed, result.num_cut) == (22, 24, 0, 1)
    assert told == [22]
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", FORMS)
def test_a_run_goes_on_to_the_same_bytes(name, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(type(encoder), "chunk", 8)
    rows = rows_of(random_sentences(30))
    whole, output = tmp_path / f"whole-{name}", tmp_path / name
    encode_rows(encoder, rows, whole, dimensions=8)
    for at in (8, 24):
        with pytest.raises(Killed):
            encode_rows(encoder, rows, output, dimensions=8, advance=killed_at(at))
        assert not output.exists()
    partial = tmp_path / f"{name}.partial"
    partial.write_bytes(partial.read_bytes()[:-5])  # in the middle of a record
    result = encode_rows(encoder, rows, output, dimensions=8)
    assert result.num_resumed == 16
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, whole.name])


def test_other_rows_options_and_models_are_refused(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(type(encoder), "chunk", 8)
    texts, output = random_sentences(30), tmp_path / "v.npy"
    with pytest.raises(Killed):
        encode_rows(encoder, rows_of(texts), output, advance=killed_at(16))
    with pytest.raises(InputError, match=r"lines.txt, row 10: is not the row that was embedded"):
        encode_rows(encoder, rows_of([*texts[:9], "other", *texts[10:]]), output)
    with pytest.raises(InputError, match="another model, backend or options; remove it"):
        encode_rows(encoder, rows_of(texts), output, dimensions=8)
    with pytest.raises(InputError, match="another model, backend or options; remove it"):
        encode_rows(encoder, rows_of(texts), output, precision="float16")
    other = sq.load(make_sentence_encoder(tmp_path / "other", seed=2))
    with pytest.raises(InputError, match="another model, backend or options; remove it"):
        encode_rows(other, rows_of(texts), output)
    assert encode_rows(encoder, rows_of(texts), output).num_resumed == 16


def test_rows_that_are_gone_leave_nothing_behind(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(type(encoder), "chunk", 8)
    texts, output = random_sentences(30), tmp_path / "v.npy"
    with pytest.raises(Killed):
        encode_rows(encoder, rows_of(texts), output, advance=killed_at(24))
    encode_rows(encoder, rows_of(texts[:8]), output)
    np.testing.assert_array_equal(np.load(output), encoder.encode(texts[:8]))


@pytest.mark.parametrize("name", FORMS)
def test_nothing_is_a_matrix_without_rows(name, encoder, tmp_path):
    encode_rows(encoder, [], tmp_path / name, precision="float16")
    assert matrix(tmp_path / name).shape == (0, 24)


@pytest.mark.parametrize("name", FORMS)
def test_half_precision(name, encoder, tmp_path):
    texts = random_sentences(5)
    encode_rows(encoder, rows_of(texts), tmp_path / name, precision="float16")
    np.testing.assert_allclose(matrix(tmp_path / name), encoder.encode(texts), atol=1e-3)


def test_words_stand_side_by_side(encoder, tmp_path):
    encode_rows(encoder, [Sentence(["wa", "wb"], 1, "x")], tmp_path / "v.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), encoder.encode(["wa wb"]))


def test_what_cannot_be_written_is_refused_before_any_work(encoder, tmp_path):
    with pytest.raises(InputError, match=r"vectors are written as .npy or .npz or .parquet"):
        encode_rows(encoder, [], tmp_path / "v.txt")
    with pytest.raises(ConfigError, match="dimensions must be a whole number from 1 to 24"):
        encode_rows(encoder, [], tmp_path / "v.npy", dimensions=25)
    (tmp_path / "v.npy").touch()
    with pytest.raises(InputError, match="already exists"):
        encode_rows(encoder, [], tmp_path / "v.npy")
