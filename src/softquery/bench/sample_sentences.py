"""Short sentences of nine to sixteen words, written for timing."""

_SUBJECTS = (
    "A woman in a red coat",
    "The old man with the dog",
    "Two children from the village",
    "My neighbour's youngest son",
    "A group of tired hikers",
    "The waiter at the corner cafe",
    "Several students of the school",
    "An engineer from the factory",
    "The girl on the blue bicycle",
    "Three musicians near the river",
)
_VERBS = (
    "is waiting for",
    "walks slowly towards",
    "takes a photograph of",
    "talks about",
    "has just left",
    "is looking for",
    "cannot find",
    "wants to repair",
    "remembers",
    "runs away from",
)
_OBJECTS = (
    "the last train to the city.",
    "a broken wooden fence.",
    "an empty house on the hill.",
    "the concert in the park.",
    "a letter that never came.",
    "the market behind the church.",
    "a boat full of oranges.",
    "the answer to a hard question.",
    "a small shop with green windows.",
    "the key to the garden gate.",
)


def sentences(count: int) -> list[str]:
    """The first `count` of a thousand different sentences, in a fixed mixed order.

    >>> sentences(1)
    ['A woman in a red coat is waiting for the last train to the city.']
    """
    if not 0 < count <= 1000:
        raise ValueError(f"count must be from 1 to 1000, got {count}")
    # 371 has no factor in common with 1000, so that the walk meets every place once.
    places = ((step * 371) % 1000 for step in range(count))
    return [
        f"{_SUBJECTS[place // 100]} {_VERBS[place // 10 % 10]} {_OBJECTS[place % 10]}"
        for place in places
    ]
