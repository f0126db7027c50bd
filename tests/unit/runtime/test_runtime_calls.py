"""What Python callers hand over by mistake is refused by name, in every public call."""

import numpy as np
import pytest

import softquery
from softquery.errors import ConfigError, InputError
from softquery.runtime.call_checks import listed_encodings

pytest.importorskip("torch")

ODD = {
    "bytes": b"w1",
    "number": 5,
    "nan": float("nan"),
    "none": None,
    "nested": [["w1"]],
    "mapping": {"w1": 1},
}
odd = pytest.mark.parametrize("odd", ODD.values(), ids=ODD)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    from small_exported import every_kind

    folders = every_kind(tmp_path_factory.mktemp("kinds"))
    vectors = softquery.load_vectors(folders.pop("vectors"))
    opened = {kind: softquery.load(folder, threads=1) for kind, folder in folders.items()}
    return {**opened, "vectors": vectors}


def calls_with_an_item(models, item):
    """Every call that takes a list, with something odd in it."""
    matcher, reader, generator = models["matcher"], models["reader"], models["generator"]
    return {
        "match": lambda: matcher.predict([("w1", "w2"), (item, "w1")]),
        "match, second": lambda: matcher.predict([("w1", "w2"), ("w1", item)]),
        "match, pair": lambda: matcher.predict([("w1", "w2"), item]),
        "encode": lambda: matcher.encode(["w1", item]),
        "encodings of texts": lambda: matcher.encodings(["w1", item]),
        "rank": lambda: matcher.rank("w1", ["w1", item]),
        "explain": lambda: matcher.explain("w1", item),
        "encodings": lambda: matcher.rank("w1", ["w1"], encodings=[item]),
        "compare": lambda: matcher.compare(matcher.encodings(["w1"]), [item]),
        "tag": lambda: models["tagger"].predict(["w1", item]),
        "tag, words": lambda: models["tagger"].predict([["w1", item]]),
        "classify": lambda: models["classifier"].predict(["w1", item]),
        "classify, explain": lambda: models["classifier"].explain(item),
        "read": lambda: reader.predict([("w1", "w2"), (item, "w1")]),
        "read, context": lambda: reader.predict([("w1", item)]),
        "read, pair": lambda: reader.predict([item]),
        "candidates": lambda: reader.candidates(item, "w1"),
        "generate": lambda: generator.predict(["w1", item]),
        "generate, explain": lambda: generator.explain(item),
        "likelihoods": lambda: generator.log_likelihoods(["w1"], [item]),
        "embed": lambda: models["embedder"].embed(["w1", item]),
        "embed, words": lambda: models["embedder"].embed([["w1", item]]),
        "embed_tokens": lambda: models["embedder"].embed_tokens([["w1"], item]),
        "embed_tokens, words": lambda: models["embedder"].embed_tokens([["w1", item]]),
        "pieces": lambda: models["encoder"].embed(["w1", item]),
        "pieces, embed_tokens": lambda: models["encoder"].embed_tokens([["w1", item]]),
        "pieces, words": lambda: models["encoder"].embed([["w1", item]]),
        "nearest": lambda: models["vectors"].nearest(item),
        "vector": lambda: models["vectors"].vector(item),
        "similarity": lambda: models["vectors"].similarity("w1", item),
        "rows": lambda: softquery.evaluate(matcher, [item]),
    }


@odd
def test_an_odd_item_is_named(models, odd):
    for name, call in calls_with_an_item(models, odd).items():
        with pytest.raises(
            InputError, match=r"expected .*, found |found: .*; expected: "
        ) as caught:
            call()
        assert len(str(caught.value)) < 150, name


@odd
def test_an_odd_list_is_named(models, odd):
    """Words in a list are a sentence for a tagger, so that a nested list is one of them."""
    calls = [
        models["matcher"].predict,
        models["matcher"].encode,
        lambda given: models["matcher"].rank("w1", given),
        models["classifier"].predict,
        models["reader"].predict,
        models["generator"].predict,
    ]
    if odd != [["w1"]]:
        calls += [models["tagger"].predict, models["embedder"].embed, models["encoder"].embed]
    for call in calls:
        with pytest.raises((TypeError, InputError), match="expected "):
            call(odd)


@pytest.mark.parametrize("kind", ["matcher", "tagger", "classifier", "reader", "generator"])
def test_one_string_is_no_list(models, kind):
    with pytest.raises(TypeError, match=r"^expected a list of (sentences|pairs), got one string;"):
        models[kind].predict("w1 w2")


def test_a_string_of_two_letters_is_no_pair(models):
    with pytest.raises(InputError, match="^the pairs, row 1: expected two texts, found 'w1'$"):
        models["matcher"].predict(["w1"])


@pytest.mark.parametrize("count", [b"1", float("nan"), 1.5, "1", [1], True])
def test_counts_are_whole_numbers(models, count):
    for call in (
        lambda: models["matcher"].rank("w1", ["w2"], top_k=count),
        lambda: models["vectors"].nearest("w1", top_k=count),
        lambda: models["reader"].candidates("w1", "w2", top_k=count),
    ):
        with pytest.raises(ValueError, match=r"top_k must be a whole number, got "):
            call()
    with pytest.raises(ConfigError, match="threads must be a whole number, got "):
        softquery.load(models["matcher"].bundle, threads=count)


@odd
def test_labels_and_models_are_names(models, odd):
    if odd is not None:
        with pytest.raises(ValueError, match="is not one of contradiction, entailment, neutral"):
            models["matcher"].rank("w1", ["w2"], label=odd)
    for call in (softquery.load, softquery.load_vectors):
        with pytest.raises(ConfigError, match="expected the name or the (folder|place) of "):
            call(odd)
    with pytest.raises(ConfigError, match=r"expected a model that softquery\.load opened, got "):
        softquery.evaluate(odd, [])


class TestEncodings:
    def test_numbers_that_are_not_finite_are_refused(self, models):
        matcher = models["matcher"]
        (sound,) = matcher.encodings(["w1 w2"])
        for value in (np.nan, np.inf, -np.inf):
            spoilt = sound.copy()
            spoilt[1, 3] = value
            message = "^the encodings, row 2: expected finite numbers, found others among them$"
            with pytest.raises(InputError, match=message):
                matcher.rank("w1", ["w1", "w2"], encodings=[sound, spoilt])
            with pytest.raises(InputError, match=message):
                matcher.compare([sound], [sound, spoilt])

    @pytest.mark.parametrize("shape", [(32,), (2, 31), (2, 33), (1, 2, 32), (), (0,)])
    def test_other_shapes_are_refused(self, models, shape):
        matcher = models["matcher"]
        message = r"row 1: expected an array of shape \[tokens, 32\], found \["
        with pytest.raises(InputError, match=message):
            matcher.rank("w1", ["w1"], encodings=[np.zeros(shape, np.float32)])

    @pytest.mark.parametrize("kind", [complex, object, "U5", bool])
    def test_other_types_are_refused(self, models, kind):
        array = np.zeros((2, 32)).astype(kind)
        with pytest.raises(InputError, match="row 1: expected an array of numbers, found "):
            models["matcher"].rank("w1", ["w1"], encodings=[array])

    def test_doubles_are_as_good(self, models):
        matcher = models["matcher"]
        stored = matcher.encodings(["w1 w2"])
        wide = [each.astype(np.float64) for each in stored]
        plain = matcher.rank("w3", ["w1 w2"], encodings=stored)
        assert matcher.rank("w3", ["w1 w2"], encodings=wide) == plain

    def test_large_numbers_are_taken_though_their_sum_is_not_finite(self, models):
        matcher = models["matcher"]
        (sound,) = matcher.encodings(["w1 w2"])
        large = np.full_like(sound, np.finfo(np.float32).max)
        assert listed_encodings([large], sound)[0] is large

    def test_numbers_beyond_float32_are_refused(self, models):
        matcher = models["matcher"]
        (wide,) = (each.astype(np.float64) for each in matcher.encodings(["w1 w2"]))
        wide[0, 0] = 1e300
        with pytest.raises(InputError, match="row 1: expected finite numbers"):
            matcher.rank("w3", ["w1 w2"], encodings=[wide])

    def test_fewer_tokens_than_an_empty_text_has_are_refused(self, tmp_path):
        matcher = softquery.load("match-en", threads=1)  # it puts marks around every text
        (empty,) = matcher.encodings([""])
        with pytest.raises(InputError, match="row 1: expected at least 2 tokens, found 0"):
            matcher.rank("a question", ["another"], encodings=[empty[:0]])

    def test_sides_must_fit_each_other(self, models):
        matcher = models["matcher"]
        three = matcher.encodings(["w1", "w2", "w3"])
        with pytest.raises(ValueError, match="2 first sides for 3 second ones"):
            matcher.compare(three[:2], three)
        with pytest.raises(ValueError, match="0 first sides for 3 second ones"):
            matcher.compare([], three)
        assert matcher.compare(three[:1], []).shape == (0, 3)


def test_half_characters_are_answered(models):
    """They come from file names and broken JSON; a model reads the rest of the text."""
    assert models["matcher"].predict([("w\udcff", "w1")])
