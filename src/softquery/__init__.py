"""softquery: attention-based text understanding on one attention core."""

__version__ = "0.1.0"
