"""What the layers of a model know: from a bundle to answers."""
