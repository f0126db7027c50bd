"""fastText's binary files: sub-words and all, and headers that lie."""

import gzip
import tracemalloc

import numpy as np
import pytest

from fasttext_writing import WORDS, FastTextFile
from softquery.errors import InputError
from softquery.files import read_vectors
from softquery.runtime import load_vectors
from softquery.runtime.vectors.convert import import_vectors

UNSEEN = ["cats", "Straßen", "北京市", "x", "naïveté", "ab" * 40]


def test_words_have_the_mean_of_their_own_row_and_their_n_grams(tmp_path):
    made = FastTextFile()
    found = read_vectors(made.write(tmp_path / "model.bin"))
    assert found.words == WORDS
    for word, vector in zip(found.words, found.matrix, strict=True):
        np.testing.assert_allclose(vector, made.expected(word), atol=1e-6)


@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 3), (2, 2), (5, 5)])
def test_words_out_of_vocabulary_have_the_mean_of_their_n_grams(tmp_path, shortest, longest):
    made = FastTextFile(shortest=shortest, longest=longest)
    path = made.write(tmp_path / "model.bin")
    bundle = import_vectors(path, tmp_path / "bundle")
    for vectors in (load_vectors(path), load_vectors(bundle)):
        for word in [*WORDS, *UNSEEN]:
            found = vectors.vector(word)
            if word not in WORDS and not made.hashed(word):
                assert found is None
            else:
                np.testing.assert_allclose(found, made.expected(word), atol=1e-5)


def test_the_vectors_are_those_of_gensim(tmp_path):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    path = FastTextFile().write(tmp_path / "model.bin")
    theirs, ours = fasttext.load_facebook_vectors(str(path)), load_vectors(path)
    for word in [*WORDS, *UNSEEN]:
        np.testing.assert_allclose(ours.vector(word), theirs.get_vector(word), atol=1e-5)


def test_a_compressed_file_and_a_choice_of_words(tmp_path):
    made = FastTextFile(words=[f"word{number}" for number in range(300)], size=60)
    path = tmp_path / "model.bin.gz"
    path.write_bytes(gzip.compress(made.to_bytes()))
    found = read_vectors(path, keep=["word7", "none", "word250"])
    assert found.words == ["word7", "word250"]
    np.testing.assert_allclose(found.matrix[1], made.expected("word250"), atol=1e-6)


@pytest.mark.parametrize("settings", [{"longest": 0, "shortest": 0}, {"buckets": 0}])
def test_a_file_without_n_grams(tmp_path, settings):
    made = FastTextFile(**settings)
    path = made.write(tmp_path / "model.bin")
    bundle = import_vectors(path, tmp_path / "bundle")
    for vectors in (load_vectors(path), load_vectors(bundle)):
        assert vectors.subwords is None
        assert vectors.vector("cats") is None
        np.testing.assert_allclose(vectors.vector("cat"), made.matrix()[2], atol=1e-6)


def test_a_word_that_is_not_utf8_is_left_out(tmp_path):
    made = FastTextFile(words=["the", "caf\udce9", "cat"])
    found = read_vectors(made.write(tmp_path / "model.bin"))
    assert found.words == ["the", "cat"]
    np.testing.assert_allclose(found.matrix[1], made.expected("cat"), atol=1e-6)


FORGED = [
    ({"quantised": True}, r"is a quantised fastText model \(.ftz\); only .bin files are read$"),
    ({"model": 3}, "is a fastText classifier; expected vectors of skip-gram or cbow$"),
    ({"version": 99}, r"fastText's version 99 is not known \(known: 11 and 12\)$"),
    ({"size": 0}, "the header's width is 0$"),
    ({"num_words": -5}, "-5 words, 0 labels, -1 pruned; expected words alone$"),
    ({"num_labels": 2}, "8 entries: 6 words, 2 labels"),
    ({"pruned": 7}, "7 pruned; expected words alone$"),
    ({"num_words": 2**31 - 1}, "model.bin: "),
    ({"matrix_rows": 2**60}, "the matrix is said to be 1,152,921,504,606,846,976 × 4$"),
    ({"matrix_rows": -1}, "the matrix is said to be -1 × 4$"),
    ({"longest": 10**6}, "50 buckets for n-grams of 3 to 1000000 characters$"),
]


@pytest.mark.parametrize(("settings", "said"), FORGED)
def test_forged_headers_are_refused(tmp_path, settings, said):
    path = FastTextFile(**settings).write(tmp_path / "model.bin")
    with pytest.raises(InputError, match=said):
        read_vectors(path)


def test_a_header_that_promises_much_allocates_nothing(tmp_path):
    content = FastTextFile().to_bytes()
    place = 8 + 8 * 4  # behind magic, version and eight settings
    many = (2**31 - 1).to_bytes(4, "little")
    rows = (len(WORDS) + 2**31 - 1).to_bytes(8, "little")
    true_rows = (len(WORDS) + 50).to_bytes(8, "little")
    forged = content[:place] + many + content[place + 4 :]
    forged = forged.replace(b"\0" + true_rows, b"\0" + rows, 1)
    path = tmp_path / "model.bin"
    path.write_bytes(forged)
    tracemalloc.start()
    with pytest.raises(InputError, match="breaks off after the vectors of .* n-grams$"):
        read_vectors(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


def test_every_truncation_is_refused_in_one_line(tmp_path):
    made = FastTextFile(buckets=3)
    content, path = made.to_bytes(), tmp_path / "model.bin"
    end = len(content) - 17 - 4 * made.size * len(WORDS)  # the output matrix is not read
    for length in range(5, end, 7):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="breaks off "):
            read_vectors(path)


def test_a_number_that_is_not_finite_is_refused(tmp_path):
    made = FastTextFile()
    content = made.to_bytes()
    number = made.matrix()[0, 0].tobytes()
    path = tmp_path / "model.bin"
    path.write_bytes(content.replace(number, np.float32(np.inf).tobytes()))
    with pytest.raises(InputError, match="the vectors of words hold a number that is not finite$"):
        read_vectors(path)


def test_bad_rows_of_a_text_file_may_be_passed_over(tmp_path):
    path = tmp_path / "wiki.vec"
    path.write_bytes(b"6 2\nthe 1 2\ncaf\xe9 3 4\ncat 5 6\nshort 7\ndog 8 much\nnan nan 9\n")
    bad = []
    found = read_vectors(path, on_bad=bad.append)
    assert found.words == ["the", "cat"]
    assert found.matrix.tolist() == [[1, 2], [5, 6]]
    assert sorted(error.row for error in bad) == [3, 5, 6, 7]
    with pytest.raises(InputError, match="row 3: not valid UTF-8"):
        read_vectors(path)


@pytest.mark.parametrize("header", [b"2 2\n", b""])
def test_the_last_row_may_be_the_bad_one(tmp_path, header):
    path = tmp_path / "wiki.vec"
    path.write_bytes(header + b"the 1 2\ncaf\xe9 3 4\n")
    bad = []
    assert read_vectors(path, on_bad=bad.append).words == ["the"]
    assert len(bad) == 1
