"""What the configs of models check of themselves: sizes, dropout, and choices among names."""

from collections.abc import Mapping
from typing import Any, get_args


def check_positive(config: object, *names: str) -> None:
    """Refuse a size below 1."""
    for name in names:
        if getattr(config, name) < 1:
            raise ValueError(f"{name} must be positive, got {getattr(config, name)}")


def check_dropout(config: object, *names: str) -> None:
    """Refuse a probability outside of [0, 1)."""
    for name in names:
        if not 0 <= getattr(config, name) < 1:
            raise ValueError(f"{name} must be in [0, 1), got {getattr(config, name)}")


def check_choices(config: object, choices: Mapping[str, Any]) -> None:
    """Refuse a value that is not among those of a `Literal`."""
    for name, literal in choices.items():
        if getattr(config, name) not in get_args(literal):
            raise ValueError(
                f"{name} must be one of {get_args(literal)}, got {getattr(config, name)!r}"
            )


def check_heads(hidden_size: int, num_heads: int) -> None:
    """Refuse heads that do not divide the width."""
    if hidden_size % num_heads:
        raise ValueError(
            f"hidden_size ({hidden_size}) must be divisible by num_heads ({num_heads})"
        )
