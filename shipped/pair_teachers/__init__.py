"""Cross-encoders that teach matchers on a large scale: pairs, their teacher, and its opinion."""
