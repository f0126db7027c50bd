r"""Questions that mean the same as given ones, as SimBERT writes them.

    python shipped/simbert_questions.py --simbert chinese_simbert_L-4_H-312_A-12 \
        --texts questions.txt --output paraphrases.tsv --count 5 --seed 1

SimBERT (Su 2020) was trained as a UniLM (Dong et al. 2019, Section 2.3): after `[CLS] text [SEP]`,
which sees itself both ways, it writes a similar text in the second segment from left to right, up
to the next `[SEP]`. The output has a row for each text and each different text that was written:
`text`, `written`, and the cosine of their vectors by the same SimBERT. Computes on a GPU where
torch has one.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from measured_faqs import is_measured
from torch import Tensor
from torch.nn import functional as F

from softquery.attention import KeyValueCache
from softquery.files import open_text
from softquery.interop.bert_folder import read_bert_folder
from softquery.models import Bert, BertConfig
from softquery.text import BERT_RESERVED

LONGEST = 48
"""Tokens of a text, and of what is written."""
LONGER = 8
"""How many tokens more than the longest text of a batch may be written."""
BATCH = 64
"""Texts at a time."""


class SimBert:
    """Writes texts like a text, and compares texts.

    Args:
        folder: As Google's BERTs are published.
        device: Where to compute.
    """

    def __init__(self, folder: Path, device: str) -> None:
        found = read_bert_folder(folder)
        self.pipeline, self.device = found.pipeline, device
        self.bert = Bert(BertConfig(**found.settings))
        weights = {name: np.ascontiguousarray(array) for name, array in found.weights.items()}
        self.bert.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
        self.bert.to(device).eval()
        self.pieces = found.pipeline.vocabulary()
        self.end = self.pieces.index("[SEP]")
        # What no text holds: marks, and entries that were never used.
        self.banned = torch.tensor(
            [
                number
                for number, piece in enumerate(self.pieces)
                if number != self.end and (piece in BERT_RESERVED or piece.startswith("[unused"))
            ],
            device=device,
        )

    def write(self, texts: list[str], *, top_k: int, top_p: float, seed: int) -> list[str]:
        """One text like each, drawn from the likeliest words."""
        generator = torch.Generator(self.device).manual_seed(seed)
        given, mask = self._rows(texts)
        rows = torch.arange(len(texts), device=self.device)  # those that are still written
        written = torch.full((len(texts), min(LONGEST, given.shape[1] + LONGER)), self.end,
                             device=self.device)  # fmt: skip
        with torch.inference_mode():
            states, past = self._read(given, mask)
            behind, is_seen = mask.sum(1), mask
            states = states[rows, behind - 1]
            for place in range(written.shape[1]):
                logits = self.bert.word_logits(states).float()
                logits[:, self.banned] = -torch.inf
                if place == 0:
                    logits[:, self.end] = -torch.inf
                drawn = _draw(logits, top_k, top_p, generator)
                written[rows, place] = drawn
                kept = drawn != self.end
                if not kept.any():
                    break
                rows, drawn, behind, is_seen = (
                    each[kept] for each in (rows, drawn, behind, is_seen)
                )
                past = [KeyValueCache(each.key[kept], each.value[kept]) for each in past]
                is_seen = F.pad(is_seen, (0, 1), value=True)
                states, past = self._go_on(drawn, behind, is_seen, past)
                behind = behind + 1
        return [self._text(row) for row in written.tolist()]

    def vectors(self, texts: list[str]) -> np.ndarray:
        """Vectors of length one: the pooler over the first token."""
        ids, mask = self._rows(texts)
        with torch.inference_mode():
            states, _ = self._read(ids, mask)
            return F.normalize(self.bert.pool(states[:, 0]), dim=-1).cpu().numpy()

    def _read(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, list[KeyValueCache]]:
        """States of given texts, which see themselves both ways, and what each block keeps."""
        states = self.bert.embedding(ids, _positions(mask), torch.zeros_like(ids))
        return self._through_blocks(states, mask, [None] * len(self.bert.blocks))

    def _go_on(
        self, ids: Tensor, positions: Tensor, is_seen: Tensor, past: list[KeyValueCache]
    ) -> tuple[Tensor, list[KeyValueCache]]:
        """States of one more token each, which sees what comes before it, and itself."""
        ones = torch.ones_like(ids)[:, None]
        states = self.bert.embedding(ids[:, None], positions[:, None], ones)
        states, known = self._through_blocks(states, is_seen, past)
        return states[:, 0], known

    def _through_blocks(
        self, states: Tensor, mask: Tensor, past: Sequence[KeyValueCache | None]
    ) -> tuple[Tensor, list[KeyValueCache]]:
        known = []
        for block, before in zip(self.bert.blocks, past, strict=True):
            memory = block.attention.remember(states, states, past=before)  # type: ignore[operator, union-attr]
            mixed = block.attention.mix(states, memory, mask=mask[:, None])  # type: ignore[operator, union-attr]
            states = block.around_attention.leave(states, mixed)  # type: ignore[operator, union-attr]
            inner = block.feed_forward(states)  # type: ignore[operator]
            states = block.around_feed_forward.leave(states, inner)  # type: ignore[operator, union-attr]
            known.append(memory)
        return states, known

    def _rows(self, texts: list[str]) -> tuple[Tensor, Tensor]:
        rows = [list(each)[: LONGEST - 1] for each in self.pipeline.encode_ids(texts)]
        rows = [[*row[:-1], self.end] if row[-1] != self.end else row for row in rows]
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        mask = torch.zeros_like(ids, dtype=torch.bool)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor([int(each) for each in row])
            mask[number, : len(row)] = True
        return ids.to(self.device), mask.to(self.device)

    def _text(self, ids: list[int]) -> str:
        """Pieces as text: Chinese without spaces, Latin words with one between them."""
        text = ""
        for number in ids[: ids.index(self.end) if self.end in ids else None]:
            piece = self.pieces[number]
            is_word = piece[:1].isascii() and piece[:1].isalnum()
            if is_word and text[-1:].isascii() and text[-1:].isalnum():
                text += " "
            text += piece.removeprefix("##")
        return text


def _positions(mask: Tensor) -> Tensor:
    return torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)


def _draw(logits: Tensor, top_k: int, top_p: float, generator: torch.Generator) -> Tensor:
    """A word per row, of the `top_k` likeliest and of those that make up `top_p` of the whole."""
    shares, words = logits.softmax(-1).topk(top_k, dim=-1)
    before = shares.cumsum(-1) - shares
    shares = shares.masked_fill(before >= top_p, 0.0)
    return words.gather(1, torch.multinomial(shares, 1, generator=generator))[:, 0]


def rows_of(simbert: SimBert, texts: list[str], options: argparse.Namespace) -> Iterator[str]:
    """The rows of some texts: every different text that was written, the nearest first."""
    copies = [text for text in texts for _ in range(options.count)]
    drawn = simbert.write(copies, top_k=options.top_k, top_p=options.top_p, seed=options.seed)
    written = [text or " " for text in drawn]
    cosines = (simbert.vectors(copies) * simbert.vectors(written)).sum(1)
    for start in range(0, len(copies), options.count):
        own = slice(start, start + options.count)
        near = dict(sorted(zip(written[own], cosines[own], strict=True), key=lambda each: -each[1]))
        for text, cosine in near.items():
            is_new = text.strip() and text != copies[start] and not is_measured(text)
            if is_new and cosine >= options.least:
                yield f"{copies[start]}\t{text}\t{cosine:.4f}"


def main() -> None:
    """Write texts like the lines of files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simbert", type=Path, required=True)
    parser.add_argument("--texts", type=Path, action="append", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=5, help="texts to write like each")
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument("--top-p", type=float, default=0.8)
    parser.add_argument("--least", type=float, default=0.0, help="the least cosine to the text")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    simbert = SimBert(options.simbert, "cuda" if torch.cuda.is_available() else "cpu")
    texts = []
    for path in options.texts:
        with open_text(path) as lines:
            texts += [line.replace("\t", " ") for line in lines if line.strip()]
    texts = sorted(dict.fromkeys(texts), key=len)
    step, num_written = max(1, BATCH * (16 if simbert.device == "cuda" else 1) // options.count), 0
    with options.output.open("w", encoding="utf-8") as stream:
        stream.write("text\twritten\tcosine\n")
        for start in range(0, len(texts), step):
            for row in rows_of(simbert, texts[start : start + step], options):
                stream.write(f"{row}\n")
                num_written += 1
            options.seed += 1
    print(f"{options.output}: {num_written:,} texts like {len(texts):,}")


if __name__ == "__main__":
    main()
