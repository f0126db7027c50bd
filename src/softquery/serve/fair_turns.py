"""Whose turn it is: requests share the time of the threads, however much each of them asks for.

Every request has its own account of the seconds that were spent on it. A clock runs at the pace at
which each request would be served if all of them were served at once and equally; a new request
begins at the present time of that clock. Next is the request whose begin and account together are
the least. This is weighted fair queueing (Demers, Keshav and Shenker, 1989) with requests as flows.

Work is handed out in units of about `UNIT_SECONDS`. Requests that need no more than one unit are
served in the order of their arrival, which keeps their waiting times even; the account matters only
beyond that.
"""

from dataclasses import dataclass

UNIT_SECONDS = 0.1
"""Seconds that a thread should work before it looks again whose turn it is."""
LEAST_TOKENS = 64
"""Tokens of a unit on the slowest models: smaller batches would waste more than they save."""
FIRST_PACE = 1e-4
"""Seconds per token of a handler that has not computed anything yet."""
LEARNING_RATE = 0.2
"""How much the last batch counts in the pace of its handler."""


@dataclass(slots=True)
class Turn:
    """When a request began, and how much time was spent on it since."""

    begin: float
    number: int
    """Decides between requests that began at the same time."""
    seconds: float = 0.0

    @property
    def place(self) -> tuple[float, int]:
        """The request with the least place is next.

        >>> Turn(5.0, 1).place < Turn(5.0, 2, seconds=0.05).place < Turn(3.0, 0, seconds=4.0).place
        True
        """
        if self.seconds <= UNIT_SECONDS:
            return self.begin, self.number
        return self.begin + self.seconds + UNIT_SECONDS, self.number


class FairClock:
    """Advances as fast as each of the present requests is entitled to be served."""

    def __init__(self) -> None:
        self._now = 0.0
        self._count = 0

    def new_turn(self) -> Turn:
        """The turn of a request that has just arrived."""
        self._count += 1
        return Turn(self._now, self._count)

    def advance(self, seconds: float, num_requests: int) -> None:
        """Some seconds were spent on one of the present requests."""
        self._now += seconds / max(1, num_requests)


class Paces:
    """How fast each handler computes, learnt from the batches that it computed."""

    def __init__(self) -> None:
        self._seconds_per_token: dict[object, float] = {}

    def seconds(self, handler: object, tokens: int) -> float:
        """How long that many tokens will take."""
        return tokens * self._seconds_per_token.get(handler, FIRST_PACE)

    def unit(self, handler: object, most: int) -> int:
        """The tokens of one unit of work, and at most so many.

        >>> paces = Paces()
        >>> paces.unit("tag", 1024), paces.unit("tag", 500)
        (1000, 500)
        """
        pace = self._seconds_per_token.get(handler, FIRST_PACE)
        return min(most, max(LEAST_TOKENS, int(UNIT_SECONDS / max(pace, 1e-9))))

    def learn(self, handler: object, tokens: int, seconds: float) -> None:
        """A handler computed so many tokens in so many seconds."""
        measured = seconds / max(1, tokens)
        pace = self._seconds_per_token.get(handler, measured)
        self._seconds_per_token[handler] = pace + LEARNING_RATE * (measured - pace)
