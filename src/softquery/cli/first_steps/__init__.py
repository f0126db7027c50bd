"""The verbs of the first minutes: what is installed, and what it can do."""
