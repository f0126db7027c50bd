"""`--engine` and the options that go with it."""

from typing import NamedTuple

from softquery.cli.terminal.shared_options import require_choice
from softquery.errors import ConfigError

LOCAL, RAY = "local", "ray"


class BulkEngine(NamedTuple):
    """What runs a bulk verb."""

    name: str = LOCAL
    num_actors: int | None = None
    gpus: int = 0
    form: str | None = None

    @property
    def is_ray(self) -> bool:
        """Whether it is Ray."""
        return self.name == RAY


def chosen_engine(
    name: str, num_actors: int | None, gpus: int, form: str | None, *, source: object
) -> BulkEngine:
    """The engine, unless an option of Ray is given without it, or there is no file to read.

    Args:
        name: What `--engine` says.
        num_actors: What `--num-actors` says.
        gpus: What `--gpus` says.
        form: What `--form` says.
        source: The file of rows; None where texts are given in quotes.
    """
    require_choice("--engine", name, (LOCAL, RAY))
    if name == RAY and source is None:
        raise ConfigError("--engine ray is for files; texts in quotes are answered at once")
    if name == LOCAL:
        given = {"--num-actors": num_actors, "--gpus": gpus or None, "--form": form}
        for option, value in given.items():
            if value is not None:
                raise ConfigError(f"{option} is for --engine ray")
    return BulkEngine(name, num_actors, gpus, form)
