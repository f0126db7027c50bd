"""Students of sentence encoders, taught on a GPU; see README.md."""
