"""Arrays of parts, computed by actors: what a teacher says of its lessons, on many machines.

Parts go out a few per actor, and arrays come back in any order; whoever asked writes them down, so
that no folder need be shared. What a killed actor had under way is computed again.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from numpy.typing import NDArray

from softquery.errors import SoftqueryError
from softquery.ray.cluster import Actors
from softquery.ray.row_messages import error_of, told_error

IN_FLIGHT = 2
"""Parts per actor that are under way."""
Compute = Callable[[Any], NDArray[Any]]


class PartJob(Protocol):
    """What an actor opens once; travels to it, so that it holds names rather than models."""

    def open(self) -> Compute:
        """What computes the array of a part."""


def computed_parts(
    job: PartJob, parts: Iterable[tuple[int, Any]], actors: Actors
) -> Iterator[tuple[int, NDArray[Any]]]:
    """The number of each part with its array, as they are done.

    Args:
        job: What is computed.
        parts: A number and whatever the job takes; asked for when an actor has room.
        actors: Who computes.
    """
    team = actors.settled()
    import ray

    kind = ray.remote(max_restarts=-1, max_task_retries=-1, **team.remote_options())(PartActor)
    members = [kind.remote(job) for _ in range(team.num_actors or 1)]
    waiting, under_way = iter(parts), dict[Any, tuple[int, Any]]()
    free = members * IN_FLIGHT
    while True:
        for member, (number, part) in zip(list(free), waiting, strict=False):
            free.remove(member)
            under_way[member.compute.remote(part)] = (number, member)
        if not under_way:
            return
        (done,), _ = ray.wait(list(under_way), num_returns=1)
        number, member = under_way.pop(done)
        free.append(member)
        found = ray.get(done)
        if isinstance(found, dict):
            raise error_of(found)
        yield number, found


class PartActor:
    """Opens a job once, and computes parts; a mistake of the user is told, not raised.

    Args:
        job: What is computed.
    """

    def __init__(self, job: PartJob) -> None:
        self._job = job
        self._compute: Compute | None = None

    def compute(self, part: Any) -> Any:
        """The array of a part, or the message of an error."""
        try:
            if self._compute is None:
                self._compute = self._job.open()
            return self._compute(part)
        except SoftqueryError as error:
            return told_error(error)
