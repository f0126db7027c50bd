"""A vector for a sentence: from a bundle to answers."""
