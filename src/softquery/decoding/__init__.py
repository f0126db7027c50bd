"""From scores to the best answer, without torch."""

from softquery.decoding.viterbi import Path, viterbi

__all__ = ["Path", "viterbi"]
