"""What BERTs with a head share, whatever their task: from a bundle to answers."""
