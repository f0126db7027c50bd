"""Short sentences of nine to sixteen words, written for timing, and passages of them."""

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


def passages(count: int, num_words: int) -> list[str]:
    """Texts of so many words, made of sentences one after another and cut in the last of them.

    >>> passages(2, 16)[0]
    'A woman in a red coat is waiting for the last train to the city. My'
    """
    words = [text.split() for text in sentences(1000)]
    found = []
    for start in range(count):
        text: list[str] = []
        place = start
        while len(text) < num_words:
            text += words[place % len(words)]
            place += 1
        found.append(" ".join(text[:num_words]))
    return found
