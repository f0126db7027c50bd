"""Labelled queries for the small indexes of tests, in words of which no row has any."""

ROWS = [
    {"id": f"r{number}", "question": f"w{number} w{number + 40}", "answer": f"a{number}"}
    for number in range(8)
]


def labelled_queries(each: int = 4, in_vain: int = 12) -> list[dict[str, str]]:
    """Some queries for every row, which share words with each other and with no row; and others
    for which there is no row."""
    rows = [
        {"query": f"w{number + 80} w{number + 90} w{number + 70} w{20 + turn}", "doc": f"r{number}"}
        for turn in range(each)
        for number in range(8)
    ]
    vain = [
        {"query": f"w{110 + number % 8} w{118} w{60 + number}", "doc": ""}
        for number in range(in_vain)
    ]
    return rows + vain
