"""word2vec's own loop, with an engine for CPUs and one for GPUs."""

from softquery.training.word2vec.word_training import WordTraining, num_cores

__all__ = ["WordTraining", "num_cores"]
