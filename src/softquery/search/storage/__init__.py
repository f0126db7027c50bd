"""What is in an index's folder: rows, their words, vectors and encodings, and the manifest."""
