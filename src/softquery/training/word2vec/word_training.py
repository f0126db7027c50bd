"""How word vectors are trained: windows, noise, rates, and by which engine."""

import os
from dataclasses import dataclass
from typing import Literal

EngineName = Literal["auto", "numba", "torch"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WordTraining:
    """A run of word2vec; the defaults are those of the authors' program."""

    seed: int = 1
    epochs: int = 5
    lr: float = 0.025
    """Falls in a straight line to `final_lr` over all epochs."""
    final_lr: float = 1e-4
    window: int = 5
    """Words to each side at most; each window draws how far it reaches, from 1 to this."""
    num_negatives: int = 5
    """Noise words for a window; the paper has 5 to 20 for small corpora, 2 to 5 for large ones."""
    noise_power: float = 0.75
    """Noise is drawn by the count of a word to this power (Mikolov et al. 2013b, Section 2.2)."""
    subsample: float = 1e-3
    """Words with a larger share of the text than this are left out at random; 0 for never."""
    engine: EngineName = "auto"
    """`"numba"`: threads on the CPU; `"torch"`: large batches, on a GPU where there is one;
    `"auto"`: torch where there is a GPU, else numba."""
    threads: int | None = None
    """Of the CPU; all by default. With one, a run can be repeated bit by bit."""
    batch_size: int = 4096
    """Windows per step, for torch."""
    max_pull: float = 1.0
    """Learning rates that a row may add up in one step, for torch. A frequent word occurs hundreds
    of times in a batch, and the sum of so many like gradients overshoots."""
    checkpoint_seconds: float = 300.0

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be from 0 to {2**32 - 1:,}, got {self.seed:,}")
        for name in ("epochs", "window", "num_negatives", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.window > 1000 or self.num_negatives > 1000:
            raise ValueError("window and num_negatives must be at most 1,000")
        if not 0 <= self.final_lr <= self.lr:
            raise ValueError(
                f"expected 0 <= final_lr <= lr, got final_lr {self.final_lr} and lr {self.lr}"
            )
        if self.max_pull <= 0:
            raise ValueError(f"max_pull must be positive, got {self.max_pull}")
        if self.subsample < 0:
            raise ValueError(f"subsample must not be negative, got {self.subsample}")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, got {self.threads}")
        if self.engine not in ("auto", "numba", "torch"):
            raise ValueError(f"engine must be auto, numba or torch, got {self.engine!r}")

    def rate(self, done: float) -> float:
        """The learning rate when this share of the run is done.

        >>> WordTraining(lr=0.03, final_lr=0.01).rate(0.5)
        0.02
        """
        return self.lr + (self.final_lr - self.lr) * done


def num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
