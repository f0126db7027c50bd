"""Estimators for scikit-learn: sentence vectors as features, and models that are trained already.

Their parameters are names or folders of models, so that they are cloned, compared and pickled as
all estimators are; the model itself is opened when it is first needed, once in each process.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softquery.errors import ConfigError, InputError, MissingExtra
from softquery.runtime import Classifier, Matcher, SentenceEncoder, load
from softquery.runtime.call_checks import listed_pairs, listed_texts

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted
except ImportError:
    raise MissingExtra("sklearn", needed_for="estimators for scikit-learn") from None

ModelName = str | PathLike[str]
Texts = Iterable[str]
Pairs = Iterable[Sequence[str]]


class _Opened(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the estimators share: a model by its name, opened once and never pickled."""

    model: ModelName
    threads: int | None

    def _open(self) -> Any:
        asked = (str(self.model), self.threads)
        if getattr(self, "_model_of", None) != asked:
            if not isinstance(self.model, (str, PathLike)):
                raise ConfigError(f"model must be a name or a folder, got {self.model!r:.60}")
            self._opened = load(self.model, threads=self.threads)
            self._model_of = asked
        return self._opened

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        for name in ("_opened", "_model_of"):
            state.pop(name, None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class SentenceVectorizer(TransformerMixin, _Opened):  # type: ignore[misc]
    """Texts as vectors of length one, for whatever scikit-learn learns from features.

    Nothing is learnt from the texts: `fit` opens the model.

    Args:
        model: A sentence encoder, or any other model that has `encode`: its name or its folder.
        dimensions: How many numbers of each vector to keep; sentence encoders alone can cut.
        threads: Threads of one call; None for all cores.

    >>> SentenceVectorizer("embed-en").fit_transform(["a man eats", "someone eats"]).shape
    (2, 384)
    """

    def __init__(
        self,
        model: ModelName = "embed-en",
        *,
        dimensions: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self.threads = threads

    def fit(self, X: Texts, y: object = None) -> "SentenceVectorizer":  # noqa: N803  (their name)
        """Open the model, and say how wide its vectors are."""
        self.n_features_out_ = self.transform_texts([""]).shape[1]
        listed_texts(X)
        return self

    def transform(self, X: Texts) -> NDArray[np.float32]:  # noqa: N803
        """A matrix, one row per text."""
        check_is_fitted(self)
        return self.transform_texts(X)

    def transform_texts(self, texts: Texts) -> NDArray[np.float32]:
        """As `transform`, also before `fit`."""
        model = self._open()
        if not hasattr(model, "encode"):
            raise ConfigError(f"{self.model}: gives no vectors of texts")
        if isinstance(model, SentenceEncoder):
            return model.encode(texts, dimensions=self.dimensions)
        if self.dimensions is not None:
            raise ConfigError("dimensions are for a sentence encoder; omit them for other models")
        found: NDArray[np.float32] = model.encode(texts)
        return found

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The names of the columns, as `set_output(transform="pandas")` needs them."""
        check_is_fitted(self)
        names = [f"{type(self).__name__.lower()}{n}" for n in range(self.n_features_out_)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class _TrainedClassifier(ClassifierMixin, _Opened):  # type: ignore[misc]
    """A model that has been trained: `fit` checks that the labels are among its own."""

    _kind: type[Classifier] | type[Matcher]

    def fit(self, X: Any, y: Iterable[object] | None = None) -> Any:  # noqa: N803
        """Open the model; labels that it cannot answer are refused."""
        rows = self._listed(X)
        model = self._open()
        if not isinstance(model, self._kind) or not model.labels:
            raise ConfigError(f"{self.model}: is no {self._kind.__name__} with labels")
        self.classes_ = np.array(model.labels)
        given = np.asarray([] if y is None else y)
        if y is not None:
            check_consistent_length(rows, given)
        check_classification_targets(given)
        for row, label in enumerate(given.tolist(), 1):
            if label not in model.labels:
                known = ", ".join(map(repr, model.labels))
                message = f"label {label!r:.40} is not one of {known}"
                raise InputError(message, source="the labels", row=row)
        return self

    def predict(self, X: Any) -> NDArray[np.str_]:  # noqa: N803
        """The label of each row: by the model's threshold, also where it would abstain."""
        check_is_fitted(self)
        model = self._open()
        found: NDArray[np.str_] = self.classes_[model.decide(self.predict_proba(X))]
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """A row of calibrated probabilities for each row, in the order of `classes_`."""
        check_is_fitted(self)
        found: NDArray[np.float64] = self._open().predict_proba(self._listed(X))
        return found

    def _listed(self, given: Any) -> Any:
        raise TypeError(f"{type(self).__name__} reads neither texts nor pairs")


class TextClassifier(_TrainedClassifier):
    """A classifier of softquery as an estimator.

    Args:
        model: The name or the folder of a classifier, such as `"sentiment-en"`.
        threads: Threads of one call; None for all cores.
    """

    _kind = Classifier

    def __init__(self, model: ModelName, *, threads: int | None = None) -> None:
        self.model = model
        self.threads = threads

    def _listed(self, given: Texts) -> list[str]:
        return listed_texts(given)


class PairClassifier(_TrainedClassifier):
    """A matcher as an estimator; rows are pairs of texts.

    Args:
        model: The name or the folder of a matcher.
        threads: Threads of one call; None for all cores.

    >>> pairs = [("A man eats.", "Someone eats."), ("A man eats.", "Nobody eats.")]
    >>> PairClassifier("nli-en").fit(pairs).predict(pairs).tolist()
    ['entailment', 'contradiction']
    """

    _kind = Matcher

    def __init__(self, model: ModelName, *, threads: int | None = None) -> None:
        self.model = model
        self.threads = threads

    def _listed(self, given: Pairs) -> list[tuple[str, str]]:
        return listed_pairs(given)
