"""The shapes of sentence-transformers over softquery's models: change one import.

    from softquery.integrations.sentence_transformers import CrossEncoder, SentenceTransformer

It needs neither sentence-transformers nor torch. What differs: `similarity` gives numpy matrices
(tensors where it is given tensors); `batch_size`, `show_progress_bar` and `device` are taken and
change nothing, as batches are made by length and models run on the processor; what would change
answers and is not known here, such as prompts, is refused.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from softquery.errors import ConfigError, MissingExtra
from softquery.integrations.given_models import open_model
from softquery.runtime import Matcher, SentenceEncoder
from softquery.runtime.given_texts import given_texts

Precision = Literal["float32", "binary", "ubinary"]


class SentenceTransformer:
    """A sentence encoder under the names of sentence-transformers.

    Args:
        model_name_or_path: The name or the folder of a sentence encoder or of another model that
            has `encode`, such as a matcher.
        device: `"cpu"`, or None.
        truncate_dim: How many numbers of each vector to keep; None for all.

    >>> model = SentenceTransformer("embed-en")
    >>> model.encode(["a man eats", "someone eats"]).shape, model.encode("a man eats").shape
    ((2, 384), (384,))
    """

    def __init__(
        self,
        model_name_or_path: Any = "embed-en",
        *,
        device: str | None = None,
        truncate_dim: int | None = None,
    ) -> None:
        _check_device(device)
        self._model = open_model(model_name_or_path, "encode")
        self.truncate_dim = truncate_dim
        self.similarity_fn_name = "cosine"

    @property
    def max_seq_length(self) -> int | None:
        """The most tokens of a text that the model reads."""
        found = getattr(self._model, "max_tokens", None)
        return None if found is None else int(found)

    def get_embedding_dimension(self) -> int:
        """The width of its vectors."""
        return int(self.encode("").shape[0])

    get_sentence_embedding_dimension = get_embedding_dimension

    def encode(
        self,
        inputs: str | Sequence[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: Literal["sentence_embedding"] = "sentence_embedding",
        precision: Precision = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: str | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
    ) -> Any:
        """A vector for one text, or a matrix for several.

        Args:
            inputs: A text, or texts.
            prompt_name: Not known here; None.
            prompt: Put before every text.
            batch_size: Changes nothing.
            show_progress_bar: Changes nothing.
            output_value: `"sentence_embedding"`.
            precision: `"float32"`, or bits as `"binary"` or `"ubinary"`.
            convert_to_numpy: Whether to give one array; otherwise a list of arrays.
            convert_to_tensor: Whether to give a tensor, which needs torch.
            device: `"cpu"`, or None.
            normalize_embeddings: Changes nothing: vectors have length one in any case.
            truncate_dim: How many numbers to keep; by default those of the model.
        """
        _check_device(device)
        _refuse(prompt_name=prompt_name)
        if output_value != "sentence_embedding":
            raise ConfigError(
                f"output_value must be 'sentence_embedding', got {output_value!r:.40}"
            )
        texts = [inputs] if isinstance(inputs, str) else list(given_texts(inputs))
        texts = texts if prompt is None else [prompt + text for text in texts]
        vectors = _bits(self._vectors(texts, truncate_dim or self.truncate_dim), precision)
        found = vectors[0] if isinstance(inputs, str) else vectors
        if convert_to_tensor:
            return _torch().from_numpy(np.ascontiguousarray(found))
        return found if convert_to_numpy or isinstance(inputs, str) else list(found)

    encode_query = encode
    encode_document = encode

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The cosine of every vector with every other one: [n, m]."""
        first, second = _rows(embeddings1), _rows(embeddings2)
        return _like(first @ second.T, embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The cosine of every vector with the one beside it: [n]."""
        found = (_rows(embeddings1) * _rows(embeddings2)).sum(axis=1)
        return _like(found, embeddings1, embeddings2)

    def _vectors(self, texts: list[str], width: int | None) -> Any:
        if isinstance(self._model, SentenceEncoder):
            return self._model.encode(texts, dimensions=width)
        if width is not None:
            raise ConfigError("truncate_dim is for a sentence encoder; omit it for other models")
        return self._model.encode(texts)


class CrossEncoder:
    """A matcher under the names of sentence-transformers.

    A matcher with two labels gives one score a pair, the calibrated probability that both mean the
    same; one with more gives a row of probabilities, in the order of its labels.

    Args:
        model_name_or_path: The name or the folder of a matcher.
        device: `"cpu"`, or None.

    >>> model = CrossEncoder("match-en")
    >>> pairs = [("How do I pay?", "How can I pay?"), ("How do I pay?", "Is it late?")]
    >>> model.predict(pairs).argmax(), model.predict(pairs[0]) > 0.5
    (np.int64(0), np.True_)
    """

    def __init__(self, model_name_or_path: Any = "match-en", *, device: str | None = None) -> None:
        _check_device(device)
        self._model = open_model(model_name_or_path, "rank")
        if not isinstance(self._model, Matcher):
            raise ConfigError(f"expected a matcher, got {type(self._model).__name__}")

    @property
    def num_labels(self) -> int:
        """How many numbers `predict` gives for a pair."""
        return len(self._model.labels) if len(self._model.labels) > 2 else 1

    def predict(
        self,
        inputs: Sequence[Any],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: None = None,
        apply_softmax: bool | None = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: str | None = None,
    ) -> Any:
        """Scores of pairs, or of one pair.

        Args:
            inputs: Pairs of texts, or one pair.
            prompt_name: Not known here; None.
            prompt: Not known here; None.
            batch_size: Changes nothing.
            show_progress_bar: Changes nothing.
            activation_fn: Not known here; None. Scores are calibrated probabilities.
            apply_softmax: Changes nothing: rows are probabilities in any case.
            convert_to_numpy: Whether to give one array; otherwise a list.
            convert_to_tensor: Whether to give a tensor, which needs torch.
            device: `"cpu"`, or None.
        """
        _check_device(device)
        _refuse(prompt_name=prompt_name, prompt=prompt, activation_fn=activation_fn)
        one = (
            isinstance(inputs, (list, tuple))
            and len(inputs) == 2
            and all(isinstance(each, str) for each in inputs)
        )
        rows = self._model.probabilities([inputs] if one else inputs).astype(np.float32)
        scores = rows[:, self._model.column()] if self.num_labels == 1 else rows
        found = scores[0] if one else scores
        if convert_to_tensor:
            return _torch().as_tensor(np.asarray(found))
        return found if convert_to_numpy or one else list(found)

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: None = None,
        device: str | None = None,
    ) -> list[dict[str, Any]]:
        """Documents ordered by how well they match a query, best first.

        The query is encoded once. See `predict` for what changes nothing.

        Returns:
            Dicts with `corpus_id`, `score` and, where it is asked for, `text`.
        """
        _check_device(device)
        _refuse(prompt_name=prompt_name, prompt=prompt, activation_fn=activation_fn)
        if self.num_labels != 1:
            raise ConfigError(f"rank needs two labels, this matcher has {self.num_labels}")
        found: list[dict[str, Any]] = self._model.rank(
            query, documents, top_k=top_k, return_documents=return_documents
        )
        return found


def _check_device(device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ConfigError(f"device must be 'cpu', got {device!r:.40}")


def _refuse(**given: object) -> None:
    """Refuse what would change the answers of the other library, and is not known here."""
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"{name}: not known here, must be None, got {value!r:.40}")


def _bits(vectors: Any, precision: Precision) -> Any:
    if precision == "float32":
        return vectors
    if precision not in ("binary", "ubinary"):
        raise ConfigError(f"precision must be float32, binary or ubinary, got {precision!r:.40}")
    bits = np.packbits(vectors > 0, axis=1)
    return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)


def _rows(given: Any) -> Any:
    """Vectors as a matrix of rows of length one; texts are refused."""
    if isinstance(given, str) or (
        isinstance(given, (list, tuple)) and any(isinstance(each, str) for each in given)
    ):
        raise TypeError("expected vectors, got texts; hand over what `encode` gave of them")
    rows = np.atleast_2d(np.asarray(given, dtype=np.float32))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)


def _like(found: Any, *given: Any) -> Any:
    """A tensor where any of the arguments was one."""
    if any(type(each).__module__.partition(".")[0] == "torch" for each in given):
        return _torch().from_numpy(found)
    return found


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtra("train", needed_for="tensors") from None
    return torch
