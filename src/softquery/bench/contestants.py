"""The contestants of a benchmark: our matchers, and cross-encoders of the shapes that people use.

MiniLM-L6 and TinyBERT-L2 are what FlashRank and sentence-transformers rerank with on a CPU; the
ModernBERT of 17 million weights has the shape of the smallest Ettin. The rivals have random
weights, which cost as much time as trained ones. Their vocabulary consists of the benchmark's own
words, so that no word is split into sub-words, which favours them.
"""

import importlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from softquery.bench.sample_sentences import sentences
from softquery.errors import ConfigError, MissingExtra

Pair = tuple[str, str]
SHAPES: dict[str, dict[str, int]] = {
    "bert-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12},
    "minilm-l6": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12},
    "tinybert-l2": {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2},
    "modernbert-17m": {
        "hidden_size": 256, "num_hidden_layers": 7, "num_attention_heads": 4,
        "intermediate_size": 384, "vocab_size": 50_368,
    },
}  # fmt: skip
"""By name; inside, four times as wide as outside, and of BERT's vocabulary, unless told."""
MODERN = "modernbert"
"""What the names of shapes begin with that are not of BERT's kind."""
VOCABULARY = 30_522


class Contestant(Protocol):
    """A contestant; everything from strings to scores is timed."""

    def match(self, pairs: Sequence[Pair]) -> Any:
        """Score pairs."""

    def rank(self, query: str) -> Any:
        """Score a query against the candidates that were given last."""

    def take(self, candidates: Sequence[str]) -> None:
        """From now on rank these candidates."""


class Ours:
    """A softquery bundle that stores the encodings of its candidates.

    Args:
        model: A name or a folder.
        threads: Threads of ONNX Runtime.
        candidates: Encoded once.
    """

    def __init__(self, model: str, threads: int, candidates: Sequence[str]) -> None:
        from softquery.runtime import load_matcher

        self.matcher = load_matcher(model, backend="onnx", threads=threads)
        self.take(candidates)

    def take(self, candidates: Sequence[str]) -> None:
        """From now on rank these candidates, whose encodings are stored before the first query."""
        self.candidates = list(candidates)
        self.stored: list[Any] | None = None

    def match(self, pairs: Sequence[Pair]) -> Any:
        """Score pairs through the public API."""
        return self.matcher.predict(pairs)

    def rank(self, query: str) -> Any:
        """Rank the candidates by their stored encodings."""
        if self.stored is None:
            self.stored = self.matcher.encodings(self.candidates)
        return self.matcher.rank(query, self.candidates, encodings=self.stored)


class TorchCrossEncoder:
    """A Transformer that reads both sentences at once, in torch.

    Args:
        shape: One of `SHAPES`.
        threads: Threads of torch.
        candidates: Read again with every query: a cross-encoder can store nothing.
    """

    def __init__(self, shape: str, threads: int, candidates: Sequence[str]) -> None:
        self.model, self.tokenizer = random_cross_encoder(shape)
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.take(candidates)

    def take(self, candidates: Sequence[str]) -> None:
        """From now on rank these candidates."""
        self.candidates = list(candidates)

    def match(self, pairs: Sequence[Pair]) -> Any:
        """Score all pairs in one forward pass."""
        with self.torch.inference_mode():
            return self.model(**self.inputs(pairs, "pt")).logits

    def rank(self, query: str) -> Any:
        """Score all candidates in one batch."""
        return self.match([(query, candidate) for candidate in self.candidates])

    def inputs(self, pairs: Sequence[Pair], kind: str) -> Any:
        """Tokenise a batch."""
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        return self.tokenizer(first, second, padding=True, truncation=True, return_tensors=kind)


class QuantisedCrossEncoder(TorchCrossEncoder):
    """A cross-encoder on ONNX Runtime, dynamically quantised to int8.

    Args:
        shape: One of `SHAPES`.
        threads: Threads of ONNX Runtime.
        candidates: Read again with every query.
        graph: The int8 graph that `write_graph` wrote.
    """

    def __init__(self, shape: str, threads: int, candidates: Sequence[str], graph: Path) -> None:
        import onnxruntime

        self.tokenizer = benchmark_tokenizer()
        self.take(candidates)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )

    def match(self, pairs: Sequence[Pair]) -> Any:
        """Score all pairs in one run."""
        fed = {key: value.astype("int64") for key, value in self.inputs(pairs, "np").items()}
        names = {each.name for each in self.session.get_inputs()}
        return self.session.run(None, {key: fed[key] for key in names})[0]


def transformers() -> Any:
    """The library `transformers`, which the rivals need."""
    try:
        return importlib.import_module("transformers")
    except ImportError:
        raise MissingExtra("bench", needed_for="timing other models") from None


def benchmark_tokenizer() -> Any:
    """BERT's tokenizer with the benchmark's own words as its vocabulary."""
    from tokenizers import BertWordPieceTokenizer

    words = sorted({word for text in sentences(1000) for word in _words(text)})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    ids = {word: place for place, word in enumerate([*special, *words])}
    # Built here, because versions of transformers differ in how they take a vocabulary.
    return transformers().PreTrainedTokenizerFast(
        tokenizer_object=BertWordPieceTokenizer(ids, lowercase=True)._tokenizer,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name[1:-1].lower()}_token": name for name in special},
    )


def _words(text: str) -> list[str]:
    return "".join(mark if mark.isalnum() else f" {mark} " for mark in text.lower()).split()


def random_cross_encoder(
    shape: str, *, num_labels: int = 3, attention: str = "sdpa"
) -> tuple[Any, Any]:
    """A BERT or ModernBERT of that shape with random weights, and its tokenizer."""
    if shape not in SHAPES:
        raise ConfigError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    tokenizer = benchmark_tokenizer()
    size = {"vocab_size": VOCABULARY, **SHAPES[shape]}
    size = {"intermediate_size": 4 * size["hidden_size"], **size}
    library, kind = transformers(), "Bert"
    if shape.startswith(MODERN):
        kind = "ModernBert"
        tokenizer.model_input_names = ["input_ids", "attention_mask"]  # it knows no segments
    config = getattr(library, f"{kind}Config")(
        num_labels=num_labels, attn_implementation=attention, pad_token_id=0, **size
    )
    return getattr(library, f"{kind}ForSequenceClassification")(config).eval(), tokenizer


def write_graph(shape: str, path: Path) -> None:
    """Export a random cross-encoder and quantise it as ONNX Runtime's own tool does."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    attention = "eager" if shape.startswith(MODERN) else "sdpa"  # whose windows no graph knows
    model, tokenizer = random_cross_encoder(shape, attention=attention)
    sample = tokenizer(["a b", "c"], ["d", "e f g"], padding=True, return_tensors="pt")
    names = list(sample)
    plain = path.with_suffix(".float32.onnx")
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    with _without_warnings():
        torch.onnx.export(
            model,
            tuple(sample[name] for name in names),
            str(plain),
            input_names=names,
            output_names=["logits"],
            dynamic_axes={**axes, "logits": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(str(plain), str(path), weight_type=QuantType.QInt8)
    plain.unlink()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence warnings of exporters, which concern trained models and other lengths than ours."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
