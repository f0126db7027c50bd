"""Draw why an encoder that sees both sides is trained to predict hidden words.

    python docs/figures/reading_the_answer.py [--output docs/figures/reading-the-answer.svg]

The same blocks learn a tiny language three times. From left to right, each word is predicted from
those before it. With both sides visible and nothing hidden, the next word is predicted, too, but it
is in the input and is copied: the loss falls below what can be known, and the model fails once the
word is hidden. With a hidden word to predict, both sides help.
"""

import argparse
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import torch

from softquery.data import NONE, MaskedBatch, PackedTokens
from softquery.models import Bert, BertConfig
from softquery.tasks import MaskedLanguageModel

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"font.family": "DejaVu Sans", "font.size": 11, "svg.hashsalt": "softquery"}
)
from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)

CLS, SEP, MASK, THE = 2, 3, 4, 5
MOODS, WHO, DEEDS, PLACES = range(6, 14), range(14, 22), range(22, 30), range(30, 38)
VOCABULARY = 38
STEPS, EVERY, SENTENCES = 320, 16, 48
Make = Callable[[list[list[int]], random.Random], MaskedBatch]


def sentence(draw: random.Random) -> list[int]:
    """A sentence of article, mood, person, deed and place: 1.4 nats per word on average."""
    who = draw.randrange(8)
    deed = (who + draw.randrange(2)) % 8
    return [CLS, THE, draw.choice(MOODS), WHO[who], DEEDS[deed], draw.choice(PLACES), SEP]


KNOWABLE = (0 + math.log(8) + math.log(8) + math.log(2) + math.log(8)) / 5
"""Mean entropy of a word given the words before it, in nats."""


def next_words(rows: list[list[int]], draw: random.Random) -> MaskedBatch:
    """Predict the next word at every position, with nothing hidden."""
    return batch(rows, [(row, place, place + 1) for row in range(len(rows)) for place in range(5)])


def next_hidden(rows: list[list[int]], draw: random.Random) -> MaskedBatch:
    """Predict the next word at one position per sentence, with that word hidden."""
    asked = [(row, place) for row in range(len(rows)) for place in [draw.randrange(5)]]
    hidden = [
        [*row[: place + 1], MASK, *row[place + 2 :]]
        for row, (_, place) in zip(rows, asked, strict=True)
    ]
    return batch(rows, [(row, place, place + 1) for row, place in asked], shown=hidden)


def hidden_words(rows: list[list[int]], draw: random.Random) -> MaskedBatch:
    """Predict one hidden word per sentence at its own position."""
    asked = [(row, draw.randrange(1, 6)) for row in range(len(rows))]
    hidden = [
        [*row[:place], MASK, *row[place + 1 :]] for row, (_, place) in zip(rows, asked, strict=True)
    ]
    return batch(rows, [(row, place, place) for row, place in asked], shown=hidden)


def batch(
    rows: list[list[int]],
    asked: list[tuple[int, int, int]],
    shown: list[list[int]] | None = None,
) -> MaskedBatch:
    """Packed sentences; `asked` holds row, position of the prediction, and that of its answer."""
    tokens = PackedTokens.of(shown or rows)
    length = len(rows[0])
    return MaskedBatch(
        tokens,
        torch.tensor([row * length + place for row, place, _ in asked]),
        torch.tensor([rows[row][answer] for row, _, answer in asked]),
        tokens.packing.starts[:-1].long(),
        torch.full((len(rows),), NONE),
    )


@dataclass
class Way:
    """How a model is trained, and what it is measured on."""

    name: str
    direction: str
    learnt: Make
    asked: dict[str, tuple[Make, str]]
    """By the name of a curve: the batches it is measured on, and its line style."""


WAYS = [
    Way("left to right", "left", next_words, {"left to right": (next_words, "-")}),
    Way(
        "both sides, nothing hidden",
        "both",
        next_words,
        {
            "both sides, nothing hidden": (next_words, "-"),
            "the same model, once the word is hidden": (next_hidden, "--"),
        },
    ),
    Way("both sides, a word hidden", "both", hidden_words,
        {"both sides, a word hidden": (hidden_words, "-")}),
]  # fmt: skip
COLOURS = ("#4c72b0", "#c44e52", "#55a868")


def curves(way: Way) -> dict[str, list[float]]:
    """The loss per word on held-out sentences during training, by the name of the curve."""
    torch.manual_seed(1)
    draw = random.Random(1)
    model = Bert(
        BertConfig(
            vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=2, inner_size=64,
            max_length=8, heads="words", pooler=False, dropout=0.0, attention_dropout=0.0,
            direction=way.direction,
        )
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    found: dict[str, list[float]] = {name: [] for name in way.asked}
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            for name, (make, _) in way.asked.items():
                found[name].append(measured(model, make))
        rows = [sentence(draw) for _ in range(SENTENCES)]
        made = way.learnt(rows, draw)
        optimizer.zero_grad()
        MaskedLanguageModel().loss(model.train()(made), made).backward()
        optimizer.step()
    return found


@torch.no_grad()
def measured(model: Bert, make: Make) -> float:
    """The loss on held-out sentences, the same at every call."""
    draw = random.Random(2)
    rows = [sentence(draw) for _ in range(200)]
    made = make(rows, draw)
    return MaskedLanguageModel().loss(model.eval()(made), made).item()


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).with_name("reading-the-answer.svg")
    parser.add_argument("--output", type=Path, default=beside, help="an .svg or .png file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
    for colour, way in zip(COLOURS, WAYS, strict=True):
        for name, losses in curves(way).items():
            steps = range(0, STEPS + 1, EVERY)
            axes.plot(steps, losses, way.asked[name][1], color=colour, label=name)
            print(f"{name}: {losses[-1]:.2f} nats")
    axes.axhline(KNOWABLE, color="#777777", linestyle=":", linewidth=1)
    axes.text(STEPS, KNOWABLE - 0.17, "what the words before leave open ", ha="right", color="#555")
    axes.set(xlabel="steps", ylabel="loss of a word (nats)", xlim=(0, STEPS), ylim=(0, None))
    axes.legend(frameon=False)
    is_svg = options.output.suffix == ".svg"
    title = "An encoder that sees both sides reads the answer"
    figure.savefig(
        options.output,
        dpi=150,
        facecolor="white",
        metadata={"Date": None, "Title": title} if is_svg else None,
    )


if __name__ == "__main__":
    main()
