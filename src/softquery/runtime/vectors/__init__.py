"""Vectors for words, and for texts by the mean of their words: from a bundle to answers."""
