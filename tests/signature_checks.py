"""The checker that `conftest.py` puts on every signature of the tensor layers."""

from beartype import BeartypeConf, beartype

# As for mypy, an int is a float.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
