"""Vectors for words in their context: from a bundle to answers."""
