"""A round of the corpus as windows, in memory that lasts."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Round:
    """Windows in random order; a recorded step reads them from where it did when it was recorded.

    Attributes:
        context: Words around, int [M, C].
        context_mask: Which of them are there, bool [M, C].
        centre: The words between them, int [M].
        noise: Drawn words, int [M, K].
        number: How many windows there are, a scalar.
        place: The window that the next step begins with, a scalar.
        rates: The learning rate at the beginning and at the end, [2].
        total: Summed loss, and how many vectors asked, [2].
    """

    context: Tensor
    context_mask: Tensor
    centre: Tensor
    noise: Tensor
    number: Tensor
    place: Tensor
    rates: Tensor
    total: Tensor
