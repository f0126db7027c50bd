"""The embedding table: looked up, drawn, concatenated, and covered."""

import numpy as np
import pytest

from softquery.errors import InputError
from softquery.files import Coverage, VectorTable, fill_table, write_vectors

VOCABULARY = ["<pad>", "<unk>", "the", "Paris", "esim", "cat"]


def save(path, words, size=4, seed=0, form="glove"):
    # A vector belongs to its word, whatever the order of the file.
    rows = [np.random.default_rng([seed, *word.encode()]).normal(size=size) for word in words]
    matrix = np.array(rows, dtype=np.float32)
    write_vectors(path, VectorTable(list(words), matrix), form=form)
    return dict(zip(words, matrix, strict=True))


def test_words_are_looked_up_as_they_are_then_in_lower_case(tmp_path):
    vectors = save(tmp_path / "a.txt", ["cat", "paris", "the", "The", "<pad>"])
    table, (coverage,) = fill_table(VOCABULARY, [tmp_path / "a.txt"], size=None, seed=1)
    assert table.shape == (6, 4)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table[0], np.zeros(4))
    np.testing.assert_array_equal(table[2], vectors["the"])
    np.testing.assert_array_equal(table[3], vectors["paris"])
    assert coverage == Coverage(5, 3, 0.6, ("<unk>", "esim"))
    assert str(coverage) == "3 of 5 words found (60.0 %); missing: <unk>, esim"


def test_exact_word_wins_over_lower_case(tmp_path):
    vectors = save(tmp_path / "a.txt", ["paris", "Paris"])
    table, _ = fill_table(VOCABULARY, [tmp_path / "a.txt"], size=4, seed=1)
    np.testing.assert_array_equal(table[3], vectors["Paris"])


def test_order_of_the_file_changes_nothing(tmp_path):
    words = ["cat", "the", "paris", "dog", "und"]
    save(tmp_path / "a.txt", words)
    save(tmp_path / "b.bin", words[::-1], form="word2vec-binary")
    first, _ = fill_table(VOCABULARY, [tmp_path / "a.txt"], size=None, seed=1)
    second, _ = fill_table(VOCABULARY, [tmp_path / "b.bin"], size=None, seed=1)
    np.testing.assert_array_equal(first, second)
    other_seed, _ = fill_table(VOCABULARY, [tmp_path / "a.txt"], size=None, seed=2)
    assert not np.array_equal(first[4], other_seed[4])
    np.testing.assert_array_equal(first[5], other_seed[5])


def test_files_stand_side_by_side(tmp_path):
    left = save(tmp_path / "a.txt", ["cat", "the"], size=3)
    right = save(tmp_path / "b.txt.gz", ["cat"], size=2, seed=5)
    files = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    table, coverages = fill_table(VOCABULARY, files, size=5, seed=1)
    assert [coverage.num_found for coverage in coverages] == [2, 1]
    np.testing.assert_array_equal(table[5], np.concatenate([left["cat"], right["cat"]]))
    np.testing.assert_array_equal(table[2, :3], left["the"])
    with pytest.raises(InputError, match=r"the vectors are 3 \+ 2 wide, expected 6 in all"):
        fill_table(VOCABULARY, files, size=6, seed=1)


def test_missing_words_are_drawn_as_wide_as_the_found_ones(tmp_path):
    found = [f"found{n}" for n in range(300)]
    vectors = save(tmp_path / "a.txt", found, size=50)
    scaled = VectorTable(found, 7 * np.stack(list(vectors.values())))
    write_vectors(tmp_path / "a.txt", scaled, form="word2vec")
    missing = [f"missing{n}" for n in range(300)]
    table, (coverage,) = fill_table(
        ["<pad>", *missing, *found], [tmp_path / "a.txt"], size=None, seed=1
    )
    assert table[1:301].std() == pytest.approx(scaled.matrix.std(), rel=0.05)
    assert abs(table[1:301].mean()) < 0.5
    assert coverage.missing == tuple(missing[:20])
    assert str(coverage).startswith("300 of 600 words found (50.0 %); missing: missing0, ")
    assert str(coverage).endswith("missing19, and 280 more")


def test_nothing_found_is_still_a_table(tmp_path):
    save(tmp_path / "a.txt", ["hund"], size=16)
    table, (coverage,) = fill_table(VOCABULARY, [tmp_path / "a.txt"], size=None, seed=1)
    assert coverage.num_found == 0
    assert np.isfinite(table).all()
    assert np.linalg.norm(table[1:], axis=1).mean() == pytest.approx(1, abs=0.3)


def test_everything_found_lists_nothing_missing(tmp_path):
    save(tmp_path / "a.txt", ["a", "b"])
    _, (coverage,) = fill_table(["<pad>", "a", "b"], [tmp_path / "a.txt"], size=None, seed=1)
    assert str(coverage) == "2 of 2 words found (100.0 %)"


def test_without_files_every_row_is_drawn():
    table, coverages = fill_table(VOCABULARY, [], size=400, seed=1)
    assert coverages == []
    np.testing.assert_array_equal(table[0], np.zeros(400))
    assert np.linalg.norm(table[1:], axis=1).mean() == pytest.approx(1, abs=0.1)
    again, _ = fill_table(VOCABULARY, [], size=400, seed=1)
    np.testing.assert_array_equal(table, again)
    with pytest.raises(ValueError, match="size is needed"):
        fill_table(VOCABULARY, [], size=None, seed=1)
