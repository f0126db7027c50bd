"""What a text is: from a bundle to answers."""
