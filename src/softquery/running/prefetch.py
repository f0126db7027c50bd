"""Prefetch: what a frozen biLM reads before training, so that no epoch has to read it again."""

import os
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn

from softquery.data import Pairs, Questions, Sentences, Slot, Texts, budgeted
from softquery.errors import counted
from softquery.nn import ElmoEmbedder, KnownContexts, Lexicon, sentence_keys
from softquery.running.run_options import Say
from softquery.runtime.torch_models import elmo_inside

Data = TypeVar("Data")
NUM_TOKENS = 16_384
"""Tokens, padding included, that the biLM reads at a time."""
SHARE = 4
"""A table of contexts takes no more than such a part of the memory that is free."""


def read_words(data: Data, model: nn.Module) -> Data:
    """Data whose words a frozen biLM has read by themselves: each once and not once per epoch."""
    embedder = elmo_inside(model)
    if embedder is None or not isinstance(data, (Pairs, Questions, Texts)):
        return data
    if data.lexicon is None:
        return data
    return replace(data, lexicon=embedder.read(data.lexicon))


def read_contexts(data: Data, model: nn.Module, say: Say) -> Data:
    """Data whose sentences it has read as well, where what it found there can be kept.

    The biLM is most of the work of an epoch, and gives the same for a sentence every time.
    """
    data = read_words(data, model)
    embedder = elmo_inside(model)
    if not isinstance(data, (Pairs, Questions, Texts)) or data.lexicon is None:
        return data
    if embedder is None or embedder.tuning != "frozen" or not len(data):
        return data
    return replace(data, lexicon=_known(_end_to_end(data), data.lexicon, embedder, say))


@torch.no_grad()
def _known(sentences: Sentences, lexicon: Lexicon, embedder: ElmoEmbedder, say: Say) -> Lexicon:
    size: int = embedder.bilm.output_size  # type: ignore[assignment]
    num_layers = max(len(mix.weights) for mix in embedder.mixes.values())  # type: ignore[arg-type]
    keys, rows = _distinct(sentences)
    lengths = sentences.lengths[rows]
    needed = 4 * num_layers * size * int(lengths.sum())
    many = counted(len(rows), "sentence")
    if needed > _room(keys.device):
        say(f"the biLM reads {many} anew each epoch: {needed / 2**30:.1f} GiB")
        return lexicon
    say(f"the biLM reads {many}, once: {needed / 2**30:.1f} GiB of states")
    known = KnownContexts.room_for(keys, lengths, num_layers=num_layers, size=size)
    was_training = embedder.training
    embedder.eval()
    for slot in _slots(lengths):
        tokens = sentences.pad(rows[slot.rows.to(rows.device)], slot.length)
        layers = embedder.layers(tokens.ids, lexicon)[-num_layers:]
        known.write(tokens.ids, tokens.mask, layers)
    embedder.train(was_training)
    return lexicon._replace(contexts=known)


def _distinct(sentences: Sentences) -> tuple[Tensor, Tensor]:
    """The keys of all different sentences, ascending, and a row of each."""
    found = torch.empty(len(sentences), dtype=torch.int64, device=sentences.ids.device)
    for slot in _slots(sentences.lengths):
        rows = slot.rows.to(found.device)
        found[rows] = sentence_keys(sentences.pad(rows, slot.length).ids)
    keys, which = torch.unique(found, return_inverse=True)
    rows = torch.zeros_like(keys)
    rows[which] = torch.arange(len(found), device=found.device)
    return keys, rows


def _slots(lengths: Tensor) -> list[Slot]:
    """All rows, as many at a time as the biLM reads at once."""
    return budgeted(lengths.cpu(), num_tokens=NUM_TOKENS, seed=0, epoch=0)


def _end_to_end(data: Pairs | Questions | Texts) -> Sentences:
    """All sentences of the data."""
    if isinstance(data, Texts):
        return data.sentences
    sides = (data.first, data.second) if isinstance(data, Pairs) else (data.question, data.context)
    before = len(sides[0].ids)
    return Sentences(
        torch.cat([side.ids for side in sides]),
        torch.cat([sides[0].starts, sides[1].starts + before]),
        torch.cat([side.lengths for side in sides]),
    )


def _room(device: torch.device) -> int:
    """Bytes that may be taken: of what is free, a part that leaves room for other processes."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free // SHARE
    if "SC_AVPHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 0  # not every system says
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") // SHARE
