"""The catalogues of other languages: what is to be translated, and how it is compiled."""
