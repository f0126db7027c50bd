"""Estimators under scikit-learn's own checks, and in the pipelines that people build."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import softquery
from softquery.errors import ConfigError, InputError

pytest.importorskip("sklearn", minversion="1.6", reason='needs "softquery[sklearn]"')

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from softquery.integrations.sklearn import PairClassifier, SentenceVectorizer, TextClassifier

PAIRS = [("A man eats.", "Someone eats."), ("A man eats.", "Nobody eats.")]
TEXTS = ["how do I pay?", "where is my parcel?", "can I pay by card?", "has the parcel arrived?"]
OWN_LABELS = "y of the check has labels that the model does not know, and they are refused"
ONE_CLASS = "one class alone is fine where the model knows others; nothing is trained"
EXPECTED = {
    **dict.fromkeys(
        (
            "check_fit_score_takes_y", "check_estimators_overwrite_params",
            "check_dont_overwrite_parameters", "check_estimators_fit_returns_self",
            "check_readonly_memmap_input", "check_n_features_in_after_fitting",
            "check_positive_only_tag_during_fit", "check_estimators_dtypes", "check_dtype_object",
            "check_pipeline_consistency", "check_estimators_nan_inf", "check_estimators_pickle",
            "check_f_contiguous_array_estimator", "check_classifier_data_not_an_array",
            "check_classifiers_classes", "check_classifiers_train", "check_supervised_y_2d",
            "check_methods_sample_order_invariance", "check_methods_subset_invariance",
            "check_fit2d_1sample", "check_fit2d_1feature", "check_dict_unchanged",
            "check_fit_idempotent", "check_fit_check_is_fitted", "check_n_features_in",
            "check_fit2d_predict1d",
        ),
        OWN_LABELS,
    ),
    "check_classifiers_one_label": ONE_CLASS,
}  # fmt: skip
"""What a classifier that is trained already cannot pass, with the reason."""


def spelt(rows):
    """Rows of numbers as texts: the checks know no others."""
    return [" ".join(f"w{abs(int(value * 10))}" for value in row) for row in np.asarray(rows)]


class VectorsOfNumbers(SentenceVectorizer):
    """Takes what the checks hand over, and refuses what scikit-learn refuses of numbers."""

    def fit(self, X, y=None):  # noqa: N803
        return super().fit(spelt(validate_data(self, X)))

    def transform(self, X):  # noqa: N803
        check_is_fitted(self)
        return super().transform(spelt(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class PairsOfNumbers(PairClassifier):
    """Likewise, each text beside itself."""

    def fit(self, X, y=None):  # noqa: N803
        X, y = validate_data(self, X, y)  # noqa: N806
        return super().fit([(text, text) for text in spelt(X)], y)

    def predict_proba(self, X):  # noqa: N803
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False)
        return super().predict_proba([(text, text) for text in spelt(rows)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


@parametrize_with_checks(
    [VectorsOfNumbers("match-en", threads=1), PairsOfNumbers("nli-en", threads=1)],
    expected_failed_checks=lambda each: EXPECTED if isinstance(each, PairsOfNumbers) else {},
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_vectors_are_features():
    labels = ["pay", "parcel", "pay", "parcel"]
    pipeline = make_pipeline(SentenceVectorizer("match-en", threads=1), LogisticRegression(C=100))
    assert pipeline.fit(TEXTS, labels).predict(TEXTS).tolist() == labels
    vectors = pipeline[0].transform(TEXTS)
    assert np.array_equal(vectors, softquery.load("match-en", threads=1).encode(TEXTS))
    assert len(pipeline[0].get_feature_names_out()) == vectors.shape[1]


def test_answers_are_those_of_the_model():
    matcher = softquery.load("nli-en", threads=1)
    judge = PairClassifier("nli-en", threads=1).fit(PAIRS, ["entailment", "contradiction"])
    assert judge.classes_.tolist() == list(matcher.labels)
    assert np.array_equal(judge.predict_proba(PAIRS), matcher.predict_proba(PAIRS))
    assert judge.score(PAIRS, ["entailment", "contradiction"]) == 1


def test_a_pickle_holds_the_name_and_not_the_model():
    fitted = PairClassifier("nli-en", threads=1).fit(PAIRS)
    packed = pickle.dumps(fitted)
    assert len(packed) < 2000
    again = pickle.loads(packed)
    assert np.array_equal(again.predict_proba(PAIRS), fitted.predict_proba(PAIRS))
    assert clone(fitted).get_params() == fitted.get_params()


def test_another_model_is_opened_when_it_is_named():
    vectors = SentenceVectorizer("match-en", threads=1).fit(TEXTS)
    first = vectors.transform(TEXTS)
    second = vectors.set_params(model="nli-en").fit(TEXTS).transform(TEXTS)
    assert not np.array_equal(first, second)


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="expected a list of sentences, got one string"):
        SentenceVectorizer("match-en").fit("how do I pay?")
    with pytest.raises(TypeError, match="expected a list of pairs, got one pair"):
        PairClassifier("nli-en").fit(PAIRS[0])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 1\]"):
        PairClassifier("nli-en").fit(PAIRS[:2], ["neutral"])
    with pytest.raises(InputError, match="^the labels, row 2: label 'yes' is not one of 'entail"):
        PairClassifier("nli-en").fit(PAIRS, ["entailment", "yes"])
    with pytest.raises(ConfigError, match="dimensions are for a sentence encoder"):
        SentenceVectorizer("match-en", dimensions=8).fit(TEXTS)
    with pytest.raises(ConfigError, match="model must be a name or a folder, got Matcher"):
        PairClassifier(softquery.load("nli-en")).fit(PAIRS)
    with pytest.raises(InputError, match="^the texts, row 1: expected a string, found \\("):
        TextClassifier("nli-en").fit(PAIRS)
    with pytest.raises(ConfigError, match="^nli-en: is no Classifier with labels$"):
        TextClassifier("nli-en").fit(TEXTS)


def test_without_the_package_the_extra_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from softquery.errors import MissingExtra\n"
        "try:\n    import softquery.integrations.sklearn\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "softquery[sklearn]"' in found.stdout
