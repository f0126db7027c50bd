"""What stores share, without any database: addresses, rows as bytes, copies, BM25, filters."""

import numpy as np
import pytest

from softquery.errors import ConfigError, InputError
from softquery.search import Index, IndexSettings, migrate
from softquery.search.storage.manifest import Manifest
from softquery.search.storage.packed_encodings import EncodingPacker
from softquery.search.storage.word_recall import WordIndex, query_weights, write_words
from softquery.search.stores.address import parse_store
from softquery.search.stores.conditions import OneOf, parsed_conditions
from softquery.search.stores.row_store import STORE_FORMAT, RowStatistics, StoreState
from softquery.search.stores.state_json import read_json_text, state_from_json, state_to_json
from softquery.search.stores.word_weights import bm25, kept_word

REFUSED = {
    "postgresql://u:secret@h/db": "PGPASSWORD",
    "postgresql://h/db?password=secret": "PGPASSWORD",
    "postgresql://h/db?user=u&sslpassword=secret": "PGPASSWORD",
    "milvus://u:secret@h:19530": "MILVUS_TOKEN",
    "milvus://h:19530?token=secret": "MILVUS_TOKEN",
}


@pytest.mark.parametrize(("address", "instead"), REFUSED.items())
def test_an_address_has_no_password_and_errors_do_not_repeat_it(address, instead):
    with pytest.raises(ConfigError) as refusal:
        parse_store(address)
    assert instead in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["Faq", "a-b", "1a", "a" * 41, "fa q", "é"])
def test_names_of_indexes_are_plain(name):
    with pytest.raises(ConfigError, match="cannot be called"):
        parse_store(f"postgresql://h/db#{name}")


def test_an_address_keeps_what_the_database_needs():
    found = parse_store("postgres://reader:@/shop?host=/run/pg#faq")
    assert (found.engine, found.name) == ("postgresql", "faq")
    assert found.location == "postgresql://reader@/shop?host=/run/pg"
    assert str(parse_store("postgresql:///shop")) == "postgresql:///shop#softquery"
    with pytest.raises(ConfigError, match="no store has an address of this kind"):
        parse_store("mysql://h/db")


@pytest.mark.parametrize("precision", ["int3", "int8", "float16"])
@pytest.mark.parametrize("is_flat", [False, True])
def test_an_encoding_as_bytes_is_what_a_folder_gives(precision, is_flat):
    random = np.random.default_rng(1)
    sizes = [1, 1, 1] if is_flat else [3, 1, 7]
    rows = [random.standard_normal((size, 22), dtype=np.float32) for size in sizes]
    packer = EncodingPacker(precision, 22, is_flat)
    packed = packer.pack(rows)
    assert [packer.num_tokens(each) for each in packed] == sizes
    for row, each in zip(rows, packed, strict=True):
        assert packer.fits(each)
        assert packer.pack_stored(packer.stored(each)) == [each]
        (alone,) = packer.pack([row])
        assert alone == each
        found = packer.unpack(each)
        assert found.shape == ((22,) if is_flat else row.shape)
        error = {"int3": 0.5, "int8": 0.02, "float16": 0.002}[precision]
        assert np.abs(np.atleast_2d(found) - row).max() < error
    assert not packer.fits(packed[0][:-1])
    assert not packer.fits(b"")


@pytest.mark.parametrize("encodings", ["int3", "int8", "float16", "none"])
def test_a_copy_in_a_folder_is_the_same_to_the_byte(rows, model, tmp_path, encodings):
    settings = IndexSettings(min_score=0.0, encodings=encodings)
    index = Index.build(rows, tmp_path / "a.sq", model=model, settings=settings, threads=1)
    copy = migrate(index, tmp_path / "b.sq")
    (before,), (after,) = index.segments, copy.segments
    files = sorted(path.name for path in before.folder.iterdir())
    assert files == sorted(path.name for path in after.folder.iterdir())
    for name in files:
        assert (before.folder / name).read_bytes() == (after.folder / name).read_bytes(), name
    assert copy.search("w3 w43") == index.search("w3 w43")
    with pytest.raises(InputError, match="exists already"):
        migrate(index, tmp_path / "b.sq")


def test_bm25_from_counts_is_that_of_a_folder(tmp_path):
    from softquery.search.storage.index_files import FolderWriter

    rows = [["a", "b", "a"], ["b"], ["c", "d", "e", "f", "a"], ["b", "c"]]
    write_words(FolderWriter(tmp_path), rows)
    stored = WordIndex(tmp_path, len(rows))
    query = ["a", "c", "b", "a", "zzz"]
    counts = {word: stored.num_rows_with(word) for word in query}
    weights = query_weights(query, counts, len(rows))
    known = RowStatistics(len(rows), sum(map(len, rows)), counts)
    found = [bm25({word: row.count(word) for word in row}, weights, known) for row in rows]
    np.testing.assert_allclose(found, stored.scores(weights), rtol=1e-6)


def test_long_words_stay_different():
    first, second = "a" * 100, "a" * 99 + "b"
    assert kept_word(first) != kept_word(second)
    assert len(kept_word(first)) == 64


def test_conditions_are_read_once():
    found = parsed_conditions({"kind": ["odd", "even"], "city": {"!=": "Rome"}}, ["kind", "city"])
    assert found == [OneOf("kind", ("odd", "even")), OneOf("city", ("Rome",), is_negated=True)]
    with pytest.raises(InputError, match="no column 'size' to filter by; found: kind"):
        parsed_conditions({"size": "M"}, ["kind"])


def state(index):
    manifest: Manifest = index.manifest
    return StoreState(manifest, 12, 3.5, index.facts())


def test_a_state_is_read_back_and_other_layouts_are_refused(index):
    import json

    known = state(index)
    data = json.loads(state_to_json(known))
    assert state_from_json(data, 12, "pg") == known
    newer = {**data, "store_format": STORE_FORMAT + 1, "library_version": "9.9"}
    with pytest.raises(InputError, match=r"pg: was written by softquery 9\.9, in a layout \(2\)"):
        state_from_json(newer, 12, "pg")
    for wrong in ({}, [], {"store_format": "1"}):
        with pytest.raises(InputError, match="pg: is not an index of softquery"):
            state_from_json(wrong, 12, "pg")
    for wrong in ({**data, "facts": {}}, {**data, "usual_length": -1}, {**data, "manifest": 3}):
        with pytest.raises(InputError, match="pg: is damaged"):
            state_from_json(wrong, 12, "pg")
    newer = {**data, "manifest": {**data["manifest"], "format": 99}}
    with pytest.raises(InputError, match=r"in a format \(99\) that this version"):
        state_from_json(newer, 12, "pg")
    with pytest.raises(InputError, match="expected JSON"):
        read_json_text("{", "pg")
