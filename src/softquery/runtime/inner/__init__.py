"""An embedder of words in context inside a model of another task: from a bundle to answers."""
