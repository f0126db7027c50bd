"""The linear classifier finds the one minimum that there is."""

import numpy as np
import pytest

from softquery.errors import InputError
from softquery.measure.linear_probe import fit_linear


def cloud(num_rows=600, size=7, num_classes=4, seed=1):
    """Classes around centres, in columns of very different sizes that repeat each other."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, num_rows)
    rows = rng.normal(size=(num_classes, size))[labels] + rng.normal(size=(num_rows, size))
    rows = rows @ rng.normal(size=(size, size)) * np.logspace(-3, 3, size) + 40
    return rows.astype(np.float32), labels


@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
def test_equals_another_solver(penalty):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rows, labels = cloud()
    probe = fit_linear(rows, labels, num_classes=4, penalty=penalty, tolerance=1e-6)
    standard = ((rows - probe.centre) / probe.scale).astype(np.float64)
    other = linear_model.LogisticRegression(C=1 / (penalty * len(rows)), tol=1e-8, max_iter=5000)
    other.fit(standard, labels)
    centred = probe.weights - probe.weights.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred[:-1].T, other.coef_, atol=2e-3)
    assert (probe.predict(rows) == other.predict(standard)).mean() > 0.995


def test_scale_and_place_of_columns_do_not_matter():
    rows, labels = cloud()
    moved = (rows * np.linspace(0.1, 50, rows.shape[1]) + 3).astype(np.float32)
    first = fit_linear(rows, labels, num_classes=4).predict(rows)
    second = fit_linear(moved, labels, num_classes=4).predict(moved)
    assert (first == second).mean() > 0.99


def test_unseen_rows_are_told_apart():
    rows, labels = cloud(2000)
    probe = fit_linear(rows[:1500], labels[:1500], num_classes=4)
    assert (probe.predict(rows[1500:]) == labels[1500:]).mean() > 0.75


def test_constant_and_repeated_columns_do_no_harm():
    rows, labels = cloud()
    wide = np.concatenate([rows, rows[:, :2], np.full((len(rows), 1), 5.0)], axis=1)
    probe = fit_linear(wide.astype(np.float32), labels, num_classes=4)
    plain = fit_linear(rows, labels, num_classes=4)
    assert np.isfinite(probe.weights).all()
    assert (probe.predict(wide) == plain.predict(rows)).mean() > 0.98


def test_classes_that_never_occur_are_never_answered():
    rows, labels = cloud()
    assert set(fit_linear(rows, labels, num_classes=9).predict(rows)) <= {0, 1, 2, 3}


def test_all_zeros_get_the_commonest_class():
    rows = np.zeros((10, 3), dtype=np.float32)
    labels = [0] * 3 + [1] * 7
    probe = fit_linear(rows, labels, num_classes=2, penalty=0.0)
    assert probe.predict(rows).tolist() == [1] * 10


def test_wrong_shapes_are_refused():
    rows, labels = cloud(10)
    with pytest.raises(ValueError, match=r"vectors must be \[rows, width\], got \[10, 7, 1\]"):
        fit_linear(rows[..., None], labels, num_classes=4)
    with pytest.raises(ValueError, match="rows differ: vectors has 9, labels has 10"):
        fit_linear(rows[:9], labels, num_classes=4)
    with pytest.raises(ValueError, match="label id 3, but there are 2 labels"):
        fit_linear(rows, labels, num_classes=2)
    with pytest.raises(InputError, match="no rows"):
        fit_linear(rows[:0], labels[:0], num_classes=4)
