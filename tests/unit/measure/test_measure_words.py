"""Analogies by brute force, and planes as scikit-learn sees them."""

import numpy as np
import pytest

from softquery.measure.word_scores import (
    AnalogyScore,
    answer_analogies,
    principal_plane,
    sum_scores,
    unit_rows,
)


def test_analogies_as_one_would_look_for_them():
    draw = np.random.default_rng(1)
    unit = unit_rows(draw.normal(size=(50, 8)).astype(np.float32))
    questions = np.array([draw.choice(50, 3, replace=False) for _ in range(300)])
    found = answer_analogies(unit, questions)
    for (first, second, third), answer in zip(questions, found, strict=True):
        wanted = unit[second] - unit[first] + unit[third]
        scores = {place: unit[place] @ wanted for place in range(50)}
        for left_out in (first, second, third):
            del scores[left_out]
        assert max(scores, key=scores.get) == answer


def test_no_questions_have_no_answers():
    assert len(answer_analogies(np.eye(3, dtype=np.float32), np.zeros((0, 3), np.int64))) == 0


def test_scores_add_up():
    parts = [
        AnalogyScore(name="a", num_right=1, n=2, num_unknown=3),
        AnalogyScore(name="b", num_right=0, n=0, num_unknown=1),
    ]
    total = sum_scores(parts, "all")
    assert total.to_dict() == {"name": "all", "accuracy": 0.5, "right": 1, "n": 2, "unknown": 4}
    assert parts[1].accuracy is None


def test_the_plane_is_that_of_the_principal_components():
    decomposition = pytest.importorskip("sklearn.decomposition")
    matrix = np.random.default_rng(2).normal(size=(30, 6)).astype(np.float32)
    expected = decomposition.PCA(2).fit_transform(matrix.astype(np.float64))
    found = principal_plane(matrix)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    assert (found[0] > 0).all()


@pytest.mark.parametrize("shape", [(2, 5), (4, 1), (3, 2)])
def test_few_words_and_narrow_vectors_have_a_plane_too(shape):
    matrix = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    found = principal_plane(matrix)
    assert found.shape == (shape[0], 2)
    assert np.isfinite(found).all()


def test_a_zero_vector_stays_zero():
    assert unit_rows(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0, 0, 0]]
