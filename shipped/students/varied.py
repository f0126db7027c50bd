r"""Texts in other words and other orders: what changes a little, for the teacher to judge.

    PYTHONPATH=shipped python -m students.varied --lessons en --teacher minilm-8bit --count 1000000

Texts of people are drawn, and each is edited once: some words become others that the teacher sees
as near, or words are dropped, or a part is kept, or two words change places. Nobody says what an
edit does to the meaning: the teacher's vectors do, as of any other text. The lessons are written
anew with the edited texts as their part "made", before any teacher reads them all. Whatever equals
a text of the reported sets is left out.

N texts, T places.
"""

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from softquery.text import CONTINUATION
from students.lessons import LONGEST, Lessons
from students.teach import open_packed, vectors_of

FEWEST, MOST = 4, 40
"""Tokens of a text that is edited."""
COMMONEST = 100
"""Words that are in too many texts to be changed for others."""
LEAST_SEEN = 20
"""Texts' tokens in which a word occurs that takes another's place."""
NEAREST = 12
CHANGED, DROPPED = 0.2, 0.15
"""Shares of the words."""
KINDS = (0.55, 0.7, 0.85)
"""Up to where a number between 0 and 1 means words changed, dropped, and a part kept."""
BLOCK = 100_000
TOKENS = 32_768


@dataclass(frozen=True)
class Words:
    """Which sub-words are words, and what stands near each.

    Attributes:
        is_content: Whether a sub-word is a word that may be changed, [V].
        goes_on: Whether a sub-word goes on with a word, [V].
        near: Words near each, [V, K]; its own number where none are known.
    """

    is_content: Tensor
    goes_on: Tensor
    near: Tensor

    @classmethod
    def read(cls, lessons: Lessons, teachers: list[Path]) -> "Words":
        """By the texts' frequencies and the teacher's vectors of single words."""
        device = lessons.ids.device
        end = int(lessons.starts[lessons.first["asked"]])
        counts = torch.bincount(lessons.ids[:end].long(), minlength=len(lessons.pieces))
        is_word = torch.tensor([piece.isalpha() for piece in lessons.pieces], device=device)
        seen = is_word & (counts >= LEAST_SEEN)
        commonest = torch.zeros_like(seen)
        commonest[counts.argsort(descending=True)[:COMMONEST]] = True
        model, marks = open_packed(teachers, device.type)
        first = lessons.first["pieces"]
        alone = only(lessons, torch.arange(first, first + len(lessons.pieces), device=device))
        vectors = vectors_of(model, marks, alone, TOKENS).float()
        near = torch.arange(len(seen), device=device)[:, None].repeat(1, NEAREST)
        known = torch.nonzero(seen & ~commonest)[:, 0]
        for part in known.split(4_096):
            likeness = vectors[part] @ vectors[known].T
            found = likeness.topk(min(NEAREST + 1, len(known)), dim=1).indices[:, 1:]
            near[part, : found.shape[1]] = known[found]
        goes_on = [piece.startswith(CONTINUATION) for piece in lessons.pieces]
        return cls(seen & ~commonest, torch.tensor(goes_on, device=device), near)


def only(lessons: Lessons, rows: Tensor) -> Lessons:
    """Lessons of these texts alone."""
    lengths = lessons.lengths(rows)
    batch = lessons.batch(rows, max(1, int(lengths.max())))
    starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    first = {**dict.fromkeys(lessons.first, 0), "end": len(rows)}
    return replace(lessons, ids=batch.ids[batch.mask].int(), starts=starts, first=first)


def edited(ids: Tensor, mask: Tensor, words: Words, chance: torch.Generator) -> tuple[Tensor, ...]:
    """Each text edited once: ids [N, T] and which places are kept, in their order."""

    def drawn(*size: int) -> Tensor:
        return torch.rand(size, generator=chance, device=ids.device)

    count, length = ids.shape
    goes_on = words.goes_on[ids] & mask
    before_more = torch.nn.functional.pad(goes_on[:, 1:], (0, 1))
    is_whole = mask & ~goes_on & ~before_more
    content = is_whole & words.is_content[ids]
    kind = drawn(count, 1)
    changes, drops = kind < KINDS[0], (kind >= KINDS[0]) & (kind < KINDS[1])
    cuts, swaps = (kind >= KINDS[1]) & (kind < KINDS[2]), kind >= KINDS[2]
    lots = torch.where(content, drawn(count, length), 2.0)
    some = content & ((lots < CHANGED) | (lots == lots.amin(dim=1, keepdim=True)))
    which = torch.randint(words.near.shape[1], ids.shape, generator=chance, device=ids.device)
    other = words.near[ids].gather(2, which[:, :, None])[:, :, 0]
    found = torch.where(some & changes, other, ids)
    kept = mask & ~(is_whole & (drawn(count, length) < DROPPED) & drops)
    places, ends = torch.arange(length, device=ids.device), mask.sum(1, keepdim=True)
    size = (ends * (0.4 + 0.4 * drawn(count, 1))).ceil()
    start = ((ends - size + 1) * drawn(count, 1)).floor()
    kept &= ~cuts | ((places >= start) & (places < start + size))
    two = lots.topk(2, dim=1, largest=False)
    can = swaps & (two.values[:, 1:] < 2)
    turned = ids.scatter(1, two.indices, ids.gather(1, two.indices.flip(1)))
    return torch.where(can, turned, found), kept


def keys_of(ids: Tensor, kept: Tensor) -> Tensor:
    """A number by which texts are compared, [N]; equal texts have equal ones."""
    chance = torch.Generator().manual_seed(7)
    factors = torch.randint(1, 2**31, (LONGEST + 1,), generator=chance).to(ids.device)
    order = torch.where(kept, kept.cumsum(1), 0)
    return ((ids.long() + 1) * factors[order] * kept).sum(1)


def keys_of_texts(texts: list[str], tokenizer: str, device: torch.device) -> Tensor:
    """Of texts that are not among the lessons."""
    cutter = Tokenizer.from_str(tokenizer)
    cutter.no_truncation()
    cutter.no_padding()
    rows = [each.ids[:LONGEST] for each in cutter.encode_batch(texts, add_special_tokens=False)]
    table = torch.full((len(rows), LONGEST), -1)
    for number, row in enumerate(rows):
        table[number, : len(row)] = torch.tensor(row, dtype=torch.long)
    return keys_of(table.clamp(min=0).to(device), (table >= 0).to(device))


def main() -> None:
    """Edit and write the lessons anew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lessons", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, nargs="+", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    lessons = Lessons.read(options.lessons, "cuda" if torch.cuda.is_available() else "cpu")
    if len(lessons.owners):
        raise SystemExit(f"{options.lessons}: something was made of its texts already")
    device, folder = lessons.ids.device, options.lessons
    words = Words.read(lessons, options.teacher)
    held_out = json.loads((folder / "held_out.json").read_text(encoding="utf-8"))
    reported = keys_of_texts(held_out, lessons.tokenizer, device)
    texts = lessons.rows("texts")
    lengths = lessons.lengths(texts)
    texts = texts[(lengths >= FEWEST) & (lengths <= MOST)]
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(options.seed))
    rows = texts[order[: options.count].to(device)]
    chance = torch.Generator(device=device).manual_seed(options.seed)
    ids, sizes, owners = [], [], []
    for part in rows.split(BLOCK):
        batch = lessons.batch(part, MOST)
        found, kept = edited(batch.ids, batch.mask, words, chance)
        is_new = keys_of(found, kept) != keys_of(batch.ids, batch.mask)
        is_new &= ~torch.isin(keys_of(found, kept), reported) & (kept.sum(1) > 1)
        ids.append(found[is_new][kept[is_new]].cpu().numpy().astype(np.uint16))
        sizes.append(kept[is_new].sum(1).cpu().numpy().astype(np.int32))
        owners.append(part[is_new].cpu().numpy().astype(np.int32))
    place, end = lessons.first["made"], int(lessons.starts[lessons.first["made"]])
    for name, own, at in (("ids", ids, end), ("lengths", sizes, place)):
        known = np.load(folder / f"{name}.npy")
        np.save(folder / f"{name}.npy", np.concatenate([known[:at], *own, known[at:]]))
    np.save(folder / "owners.npy", np.concatenate(owners))
    told = json.loads((folder / "lessons.json").read_text(encoding="utf-8"))
    told["sizes"]["made"] = sum(map(len, owners))
    (folder / "lessons.json").write_text(json.dumps(told), encoding="utf-8")
    print(f"{folder}: {told['sizes']} in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
