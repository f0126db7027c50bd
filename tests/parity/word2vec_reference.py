"""word2vec as one would write it down: plain loops, one window at a time, in double precision.

It draws the same numbers as the CPU engine, so that both must end with the same tables.
"""

import math
from dataclasses import dataclass

import numpy as np

MASK = 2**64 - 1


@dataclass
class Reference:
    """Tables, and everything that decides how they move."""

    input: np.ndarray
    output: np.ndarray
    bias: np.ndarray | None
    rows: list[list[int]]
    keep: list[float]
    own: list[float]
    other: list[int]
    noise: list[float]
    ways: list[list[tuple[int, float]]]
    cbow: bool
    objective: str
    window: int
    num_negatives: int
    state: int = 0
    loss: float = 0.0
    asked: int = 0

    def draw(self) -> int:
        """The upper 40 bits of Knuth's generator."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return self.state >> 24

    def learn(self, ids: list[int], rates: tuple[float, float], seed: int) -> None:
        """Thin out, then visit every word in leaps."""
        self.state = seed
        text = [-1]
        for word in ids:
            if word < 0 or self.draw() < round(self.keep[word] * 2**40):
                text.append(word)
        text.append(-1)
        length = len(text)
        leap = max(1, int(length * 0.618034))
        while math.gcd(leap, length) != 1:
            leap += 1
        for visit in range(length):
            centre = (visit + 1) * leap % length
            if text[centre] >= 0:
                rate = rates[0] + (rates[1] - rates[0]) * visit / length
                self.window_at(text, centre, rate)

    def window_at(self, text: list[int], centre: int, rate: float) -> None:
        reach = (self.draw() >> 16) % self.window + 1
        around = []
        for direction in (-1, 1):
            for distance in range(1, reach + 1):
                word = text[centre + direction * distance]
                if word < 0:
                    break
                around.append(word)
        if around:
            bags = [[r for word in around for r in self.rows[word]]] if self.cbow else [
                self.rows[word] for word in around
            ]  # fmt: skip
            self.step(bags, self.targets(text[centre]), rate)

    def targets(self, word: int) -> list[tuple[int, float]]:
        if self.objective == "hierarchical":
            return self.ways[word]
        found = [(word, 1.0)]
        for _ in range(self.num_negatives):
            spread = self.draw() * len(self.own)
            noise = spread >> 40
            if spread % 2**40 >= round(self.own[noise] * 2**40):
                noise = self.other[noise]
            if noise != word:
                found.append((noise, 0.0))
        return found

    def step(self, bags: list[list[int]], targets: list[tuple[int, float]], rate: float) -> None:
        self.asked += len(bags)
        hidden = [np.mean([self.input[row] for row in bag], axis=0) for bag in bags]
        moved = [np.zeros(self.input.shape[1]) for _ in bags]
        answers, biases = np.zeros_like(self.output), np.zeros(len(self.output))
        for place, vector in enumerate(hidden):
            for target, label in targets:
                score = float(vector @ self.output[target])
                if self.bias is not None:
                    expected = self.num_negatives * self.noise[target]
                    score += self.bias[target] - math.log(expected)
                towards = score if label else -score
                self.loss += math.log1p(math.exp(-abs(towards))) - min(towards, 0.0)
                chance = 1 / (1 + math.exp(-score)) if abs(score) < 6 else float(score > 0)
                pull = rate * (label - chance)
                moved[place] += pull * self.output[target]
                answers[target] += pull * vector
                biases[target] += pull
        self.output += answers
        if self.bias is not None:
            self.bias += biases
        for bag, move in zip(bags, moved, strict=True):
            for row in bag:  # each part of a mean moves as far as the mean
                self.input[row] += move
