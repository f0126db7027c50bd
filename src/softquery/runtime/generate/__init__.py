"""Text from text: from a bundle to answers."""
