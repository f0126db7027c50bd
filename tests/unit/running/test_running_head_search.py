"""A head's fit by the products between rows is that of the wide matrix, and its settings pay."""

import numpy as np
import pytest

from softquery.measure.cross_validation import stratified_folds
from softquery.measure.softmax_regression import fit_softmax
from softquery.recipes.few_labels import HeadSettings
from softquery.running.few_labels import head_search
from softquery.running.few_labels.head_search import HeadFeatures, fit_weights, search_head


def features(num_rows, *, seed=1, in_words=True):
    """Random vectors, and words of which the first tells the label."""
    rng = np.random.default_rng(seed)
    labels = np.arange(num_rows) % 2
    words = (rng.random((num_rows, 40)) < 0.2).astype(np.float32)
    if in_words:
        words[:, 0] = labels
    vectors = rng.normal(size=(num_rows, 12)).astype(np.float32)
    return HeadFeatures(vectors - vectors.mean(axis=0), words), labels


@pytest.mark.parametrize("num_rows", [20, 120])
def test_products_give_the_weights_of_the_wide_matrix(num_rows, monkeypatch):
    given, labels = features(num_rows, in_words=False)
    settings = {"num_classes": 2, "cost": 3.0, "word_weight": 0.5}
    vector, words, bias = fit_weights(given, labels, **settings)
    monkeypatch.setattr(head_search, "MOST_BY_PRODUCTS", 1)
    monkeypatch.setattr(head_search, "FINE", 1e-6)
    wide = fit_weights(given, labels, **settings)
    for found, expected in zip((vector, words, bias - bias.mean()), wide, strict=True):
        if expected.ndim == 1:
            expected = expected - expected.mean()
        np.testing.assert_allclose(found, expected, atol=5e-3)
    exact, _ = fit_softmax(
        given.beside(0.5).astype(np.float64), labels, num_classes=2,
        penalty=1 / (3 * num_rows), tolerance=1e-8,
    )  # fmt: skip
    np.testing.assert_allclose(np.vstack([vector, words / 0.5]), exact[:-1], atol=5e-3)


def searched(given, labels, **settings):
    seen = []
    found = search_head(
        given,
        labels,
        stratified_folds(labels, list(range(len(labels)))),
        HeadSettings(**settings),
        num_classes=2,
        advance=lambda done, head: seen.append((done, head)),
    )
    return found, seen


def test_every_setting_is_tried_and_the_likeliest_is_kept():
    given, labels = features(60)
    found, seen = searched(given, labels, costs=(30.0, 1.0), word_weights=(0.0, 1.0))
    tried = {(each.cost, each.word_weight) for each in found.tried}
    assert tried == {(1.0, 0.0), (30.0, 0.0), (1.0, 1.0), (30.0, 1.0)}
    assert [done for done, _ in seen] == [1, 2, 3, 4]
    assert found.best.log_likelihood == max(each.log_likelihood for each in found.tried)


def test_words_count_where_they_tell_the_label():
    given, labels = features(60)
    found, _ = searched(given, labels)
    without = [each for each in searched(given, labels, word_weights=(0.0,))[0].tried]
    assert found.best.accuracy > 0.9 > max(each.accuracy for each in without)


def test_held_out_logits_are_those_that_are_measured():
    given, labels = features(60)
    found, _ = searched(given, labels)
    right = (found.logits.argmax(axis=1) == labels[found.held]).mean()
    assert right == found.best.accuracy


def test_noise_is_not_told_apart():
    given, labels = features(200, in_words=False)
    assert searched(given, labels)[0].best.accuracy < 0.65
