"""What every word of a text is: from a bundle to answers."""
