"""What two texts are to each other: from a bundle to answers."""
