"""The rival of `bench serve`: a cross-encoder behind a plain FastAPI route.

`python -m softquery.bench.plain_server PORT THREADS` serves a MiniLM-L6 with random weights, which
cost as much time as trained ones, through sentence-transformers if that is installed, else through
transformers alone.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from softquery.bench.contestants import random_cross_encoder

Scorer = Callable[[Sequence[tuple[str, str]]], list[float]]


def has_sentence_transformers() -> bool:
    """Whether the library that most people would use is installed."""
    return find_spec("sentence_transformers") is not None


def minilm() -> Scorer:
    """A MiniLM-L6 with random weights, as a function that scores pairs."""
    model, tokenizer = random_cross_encoder("minilm-l6", num_labels=1)
    if not has_sentence_transformers():
        return _by_transformers(model, tokenizer)
    from sentence_transformers import CrossEncoder  # type: ignore[import-not-found, unused-ignore]

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        encoder = CrossEncoder(folder, device="cpu")
    return lambda pairs: [float(score) for score in encoder.predict(list(pairs))]


def _by_transformers(model: Any, tokenizer: Any) -> Scorer:
    import torch

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        inputs = tokenizer(first, second, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            scores: list[float] = model(**inputs).logits[:, 0].tolist()
        return scores

    return score


def main(port: int, threads: int) -> None:
    """Serve until the process ends."""
    import torch
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    torch.set_num_threads(threads)
    score = minilm()
    app = FastAPI()

    class RerankRequest(BaseModel):
        query: str
        texts: list[str]

    @app.post("/rerank")
    def rerank(request: RerankRequest) -> list[dict[str, Any]]:
        scores = score([(request.query, text) for text in request.texts])
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        return [{"index": place, "score": scores[place]} for place in order]

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    uvicorn.run(app, port=port, log_level="error")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
