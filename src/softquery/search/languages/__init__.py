"""An index whose rows are in several languages: a part for each, with models that read it."""
