"""A random text of documents, with a vocabulary for it."""

import numpy as np
import torch

from softquery.data import DocumentText
from softquery.text import TextConfig, pipeline_from_pieces

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrst", "##x", "##y"]
PIPELINE = pipeline_from_pieces(PIECES, TextConfig(unit="bert", boundaries=True))


def some_documents(num_pieces=3000, seed=1):
    draw = np.random.default_rng(seed)
    ids = draw.integers(5, len(PIECES), num_pieces)
    starts = np.concatenate(
        [[0], np.sort(draw.choice(num_pieces, 40, replace=False)), [num_pieces]]
    )
    sentences = np.unique(np.concatenate([starts[:-1], np.arange(0, num_pieces, 9)]))
    return DocumentText(torch.from_numpy(ids).int(), starts, sentences)


DOCUMENTS = some_documents()
