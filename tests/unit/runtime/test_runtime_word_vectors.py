"""Word vectors answer, from bundles and from files, and go to other tools and back."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from softquery import load_vectors
from softquery.bundle import read_bundle
from softquery.bundle.vectors import write_vector_bundle
from softquery.errors import BundleError, InputError
from softquery.files import VectorTable, read_vectors, write_vectors
from softquery.files.word_tests import AnalogyQuestion, GradedWords, Section
from softquery.runtime.vectors.convert import export_vectors, import_vectors, shrink_vectors
from softquery.runtime.vectors.model import WordVectors
from softquery.text import TextConfig, ngram_buckets

WORDS = ["man", "woman", "king", "queen", "apple", "pear"]
MATRIX = np.array(
    [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0.2, 0], [-1, 0.3, 0.1]], dtype=np.float32
)


@pytest.fixture
def vectors():
    return WordVectors(VectorTable(WORDS, MATRIX), text=TextConfig())


def bundled(folder, words=WORDS, matrix=MATRIX, **options):
    model = {"name": "word2vec", "config": options.pop("config", {})}
    return write_vector_bundle(
        folder,
        words=words,
        matrix=matrix,
        text=options.pop("text", TextConfig()),
        model=model,
        library_version="0.1.0",
        metrics={},
        card="# vectors\n",
        **options,
    )


def test_nearest_words_by_cosine(vectors):
    near = vectors.nearest("apple", top_k=2)
    assert [each.word for each in near] == ["pear", "queen"]
    cosine = MATRIX[4] @ MATRIX[5] / np.linalg.norm(MATRIX[4]) / np.linalg.norm(MATRIX[5])
    assert near[0].score == pytest.approx(cosine, rel=1e-5)
    assert len(vectors.nearest("apple", top_k=100)) == 5  # itself is left out


def test_analogies(vectors):
    assert vectors.analogy("man", "king", "woman", top_k=1)[0].word == "queen"
    assert {each.word for each in vectors.analogy("man", "king", "woman", top_k=9)} == {
        "queen", "apple", "pear"
    }  # fmt: skip


def test_words_are_found_as_they_are_spelt_or_as_the_text_was(vectors):
    assert vectors.similarity("KING", "king") == pytest.approx(1)
    assert "Queen" in vectors
    assert "quince" not in vectors


def test_an_unknown_word_is_named_with_the_nearest(vectors):
    with pytest.raises(
        InputError, match=r"'quen' is not among the 6 words; did you mean 'queen'\?"
    ):
        vectors.nearest("quen")
    with pytest.raises(InputError, match="'zzz' is not among the 6 words$"):
        vectors.similarity("king", "zzz")


def test_questions_with_unknown_words_count_neither_way(vectors):
    sections = [
        Section(
            "royal",
            [AnalogyQuestion("man", "king", "woman", "queen"), AnalogyQuestion(*WORDS[:3], "pear")],
        ),
        Section("odd", [AnalogyQuestion("man", "king", "woman", "duchess")]),
    ]
    royal, odd = vectors.answer(sections, restrict=100)
    assert (royal.num_right, royal.n, royal.num_unknown) == (1, 2, 0)
    assert (odd.n, odd.num_unknown, odd.accuracy) == (0, 1, None)


def test_rare_words_can_be_left_out_of_analogies(vectors):
    sections = [Section("royal", [AnalogyQuestion("man", "king", "woman", "queen")])]
    assert vectors.answer(sections, restrict=4)[0].n == 1
    assert vectors.answer(sections, restrict=3)[0].num_unknown == 1


def test_grades(vectors):
    pairs = [
        GradedWords("apple", "pear", 9.0),
        GradedWords("king", "queen", 7.0),
        GradedWords("king", "apple", 1.0),
        GradedWords("king", "duchess", 5.0),
    ]
    found = vectors.grade(pairs)
    assert (found.spearman, found.n, found.num_unknown) == (pytest.approx(1), 3, 1)
    assert vectors.grade(pairs[3:]).spearman is None


def test_a_plane_shows_what_differs_most(vectors):
    points = vectors.plane(["man", "woman", "apple", "pear"])
    assert abs(points[0, 0] - points[1, 0]) < abs(points[0, 0] - points[2, 0])


def test_a_bundle_brings_the_vectors_back(tmp_path):
    counts = np.array([9, 8, 7, 6, 5, 4])
    folder = bundled(tmp_path / "model", counts=counts)
    vectors = load_vectors(folder)
    assert vectors.words == WORDS
    np.testing.assert_array_equal(vectors.vectors.matrix, MATRIX)
    bundle = read_bundle(folder)
    assert (bundle.config.kind, bundle.config.task) == ("vectors", {"name": "vectors"})
    assert bundle.config.model["config"] == {"vocab_size": 10, "embedding_size": 3}
    assert bundle.read_weights()["counts"].tolist() == [0, 0, 0, 0, *counts]


def test_a_word_that_is_spelt_like_a_reserved_token_keeps_its_vector(tmp_path):
    folder = bundled(tmp_path / "model", words=["the", "<unk>"], matrix=MATRIX[:2])
    vectors = load_vectors(folder)
    assert sorted(vectors.words) == ["<unk>", "the"]
    np.testing.assert_array_equal(vectors.vectors.matrix[vectors.place("<unk>")], MATRIX[1])


@pytest.fixture
def with_ngrams(tmp_path):
    config = {"num_buckets": 100, "min_ngram": 3, "max_ngram": 4}
    grams = sorted(set(ngram_buckets("king", shortest=3, longest=4, num_buckets=100)))
    ngrams = np.random.default_rng(1).normal(size=(len(grams), 3)).astype(np.float32)
    further = {"ngrams": ngrams, "buckets": np.array(grams, dtype=np.int64)}
    return bundled(tmp_path / "model", config=config, further=further), dict(
        zip(grams, ngrams, strict=True)
    )


def test_unseen_words_are_put_together_from_ngrams(with_ngrams):
    folder, grams = with_ngrams
    vectors = load_vectors(folder)
    assert "kings" not in vectors
    buckets = ngram_buckets("kings", shortest=3, longest=4, num_buckets=100)
    mean = np.mean([grams[bucket] for bucket in buckets if bucket in grams], axis=0)
    found = vectors.unit_vector("KINGS")
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), rtol=1e-5)
    assert len(vectors.nearest("kings")) == len(WORDS)
    with pytest.raises(InputError, match="'' is not among the 6 words"):
        vectors.nearest("")


def test_bundles_of_another_kind_are_refused(tmp_path):
    folder = bundled(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "kind": "matcher"}))
    with pytest.raises(BundleError, match="expected word vectors, found kind 'matcher'"):
        load_vectors(folder)


def damage(folder, **changes):
    weights = load_file(folder / "model.safetensors")
    weights.update(changes)
    save_file({name: value for name, value in weights.items() if value is not None},
              folder / "model.safetensors")  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vectors": None}, r"expected vectors of shape \[10, 3\], found none"),
        ({"vectors": MATRIX}, r"expected vectors of shape \[10, 3\], found \[6, 3\]"),
        ({"vectors": np.full((10, 3), np.nan, np.float32)}, "holds a number that is not finite"),
        ({"ngrams": None}, "'ngrams' does not fit config.json"),
        ({"buckets": np.zeros(2, np.int64)}, "'ngrams' does not fit config.json"),
    ],
)
def test_weights_that_do_not_fit_are_refused(with_ngrams, changes, message):
    folder, _ = with_ngrams
    damage(folder, **changes)
    with pytest.raises(BundleError, match=message):
        load_vectors(folder)


@pytest.mark.parametrize("form", ["glove", "word2vec", "word2vec-binary"])
def test_out_to_a_file_and_back(tmp_path, vectors, form):
    path = tmp_path / "vectors.gz"
    export_vectors(vectors, path, form=form)
    folder = import_vectors(path, tmp_path / "model")
    back = load_vectors(folder)
    assert back.words == WORDS
    np.testing.assert_array_equal(back.vectors.matrix, MATRIX)
    assert back.text.lowercase
    assert "imported from vectors.gz" in read_bundle(folder).card
    with pytest.raises(InputError, match="already exists; name another --output"):
        import_vectors(path, folder)


def test_case_is_kept_where_a_file_has_both(tmp_path):
    write_vectors(tmp_path / "a.txt", VectorTable(["King", "king"], MATRIX[:2]), form="glove")
    vectors = load_vectors(tmp_path / "a.txt")
    assert not vectors.text.lowercase
    assert (vectors.place("King"), vectors.place("king"), vectors.place("KING")) == (0, 1, None)


@pytest.mark.parametrize("form", ["word2vec", "word2vec-binary"])
def test_gensim_reads_what_is_written(tmp_path, vectors, form):
    models = pytest.importorskip("gensim.models")
    path, binary = tmp_path / "a.vec", form == "word2vec-binary"
    export_vectors(vectors, path, form=form)
    theirs = models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert theirs.index_to_key == WORDS
    np.testing.assert_array_equal(theirs.vectors, MATRIX)
    near = theirs.most_similar("apple", topn=3)
    ours = vectors.nearest("apple", top_k=3)
    assert [word for word, _ in near] == [each.word for each in ours]
    theirs.save_word2vec_format(str(tmp_path / "back.vec"), binary=binary)
    back = read_vectors(tmp_path / "back.vec")
    assert back.words == WORDS
    np.testing.assert_allclose(back.matrix, MATRIX, rtol=1e-6)


def test_gensim_reads_glove_without_a_header(tmp_path, vectors):
    models = pytest.importorskip("gensim.models")
    export_vectors(vectors, tmp_path / "glove.txt", form="glove")
    theirs = models.KeyedVectors.load_word2vec_format(str(tmp_path / "glove.txt"), no_header=True)
    np.testing.assert_array_equal(theirs.vectors, MATRIX)


def test_the_most_frequent_words_as_int8_answer_alike(tmp_path):
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    matrix = generator.normal(size=(300, 64)).astype(np.float32) * generator.uniform(
        0.01, 100, (300, 1)
    ).astype(np.float32)
    counts = np.arange(300, 0, -1)
    whole = bundled(tmp_path / "whole", words, matrix, counts=counts)
    assert shrink_vectors(whole, tmp_path / "small", num_words=200) == 200
    stored = read_bundle(tmp_path / "small").read_weights()
    assert stored["vectors"].dtype == np.int8
    assert stored["counts"][-200:].tolist() == counts[:200].tolist()
    small = load_vectors(tmp_path / "small")
    assert small.words == words[:200]
    whole_unit, small_unit = (
        each.vectors.matrix[:200] / np.linalg.norm(each.vectors.matrix[:200], axis=1, keepdims=True)
        for each in (load_vectors(whole), small)
    )
    assert (whole_unit * small_unit).sum(axis=1).min() > 0.999
    files = [sum(p.stat().st_size for p in (tmp_path / each).glob("*.safetensors"))
             for each in ("whole", "small")]  # fmt: skip
    assert files[1] < files[0] / 3


def test_what_cannot_be_made_smaller_is_refused(tmp_path):
    with pytest.raises(InputError, match="already exists"):
        shrink_vectors(bundled(tmp_path / "whole"), tmp_path)
    buckets = ngram_buckets("man", shortest=3, longest=3, num_buckets=50)
    config = {"num_buckets": 50, "min_ngram": 3, "max_ngram": 3}
    further = {"buckets": np.array(buckets), "ngrams": np.ones((len(buckets), 3), np.float32)}
    made = bundled(tmp_path / "ngrams", config=config, further=further)
    with pytest.raises(BundleError, match="n-grams"):
        shrink_vectors(made, tmp_path / "small")


def test_scales_that_do_not_fit_are_refused(tmp_path):
    made = bundled(tmp_path / "made", storage="int8")
    weights = load_file(made / "model.safetensors")
    save_file({**weights, "vectors:scale": weights["vectors:scale"][1:].copy()},
              made / "model.safetensors")  # fmt: skip
    with pytest.raises(BundleError, match="scale"):
        load_vectors(made)
