"""Multinomial logistic regression reaches the one minimum that there is, wherever it starts."""

import numpy as np
import pytest

from softquery.errors import InputError
from softquery.measure.softmax_regression import fit_softmax, softmax_loss


def cloud(num_rows=200, size=6, num_classes=3, seed=1):
    """Classes around centres, which overlap."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, num_rows)
    rows = 1.5 * rng.normal(size=(num_classes, size))[labels] + rng.normal(size=(num_rows, size))
    return rows, labels


def descended(rows, labels, num_classes, penalty, num_steps=20_000):
    """The minimum by plain gradient descent, with the softmax spelt out."""
    weights, bias = np.zeros((rows.shape[1], num_classes)), np.zeros(num_classes)
    gold = np.eye(num_classes)[labels]
    rate = 1 / (np.linalg.norm(rows, 2) ** 2 / len(rows) + penalty + 1)
    for _ in range(num_steps):
        powers = np.exp(rows @ weights + bias)
        wrong = (powers / powers.sum(axis=1, keepdims=True) - gold) / len(rows)
        weights -= rate * (rows.T @ wrong + penalty * weights)
        bias -= rate * wrong.sum(axis=0)
    return weights, bias


def centred(bias):
    """A bias that all classes share says nothing, and is left where it was."""
    return bias - bias.mean()


@pytest.mark.parametrize("curvature", ["full", "diagonal"])
@pytest.mark.parametrize("penalty", [1e-2, 1e-1])
def test_equals_gradient_descent(curvature, penalty):
    rows, labels = cloud()
    found, _ = fit_softmax(
        rows, labels, num_classes=3, penalty=penalty, curvature=curvature, tolerance=1e-8
    )
    weights, bias = descended(rows, labels, 3, penalty)
    np.testing.assert_allclose(found[:-1], weights, atol=1e-5)
    np.testing.assert_allclose(centred(found[-1]), centred(bias), atol=1e-5)


@pytest.mark.parametrize("num_rows", [12, 200])
def test_equals_scikit_learn_in_fewer_rows_than_columns_and_in_more(num_rows):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rows, labels = cloud(num_rows, size=30)
    found, _ = fit_softmax(
        rows, labels, num_classes=3, penalty=1 / (5 * num_rows), tolerance=1e-9, max_iterations=2000
    )
    other = linear_model.LogisticRegression(C=5, tol=1e-10, max_iter=20_000).fit(rows, labels)
    np.testing.assert_allclose(found[:-1].T, other.coef_, atol=1e-4)
    np.testing.assert_allclose(centred(found[-1]), centred(other.intercept_), atol=1e-4)


def test_the_gradient_is_that_of_the_loss():
    rows, labels = cloud(20)
    rng = np.random.default_rng(2)
    point, way = rng.normal(size=(7, 3)), rng.normal(size=(7, 3))
    _, gradient = softmax_loss(point, rows, labels, 0.3)
    ahead, behind = (softmax_loss(point + s * way, rows, labels, 0.3)[0] for s in (1e-5, -1e-5))
    assert float(gradient @ way.ravel()) == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_a_start_at_the_minimum_takes_no_step():
    rows, labels = cloud()
    first = fit_softmax(rows, labels, num_classes=3, penalty=0.1)
    again = fit_softmax(rows, labels, num_classes=3, penalty=0.1, start=first.weights)
    assert first.num_iterations > 0
    assert again.num_iterations == 0
    assert np.array_equal(again.weights, first.weights)


def test_a_class_without_rows_is_never_likeliest():
    rows, labels = cloud(num_classes=2)
    found, _ = fit_softmax(rows, labels, num_classes=3, penalty=0.1)
    assert set((rows @ found[:-1] + found[-1]).argmax(axis=1)) == {0, 1}


@pytest.mark.parametrize(
    ("labels", "message"), [([0, 3], "labels"), ([0], "rows"), ([0, -1], "labels")]
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    with pytest.raises((InputError, ValueError), match=message):
        fit_softmax(np.zeros((2, 2)), labels, num_classes=3, penalty=0.1)
