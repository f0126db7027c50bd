"""Where the answer to a question stands in a context: from a bundle to answers."""
