"""Heads on frozen sentence encoders: from few labelled texts to a bundle, without torch."""
