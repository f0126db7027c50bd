"""`store_writer.py ADDRESS NAME FIRST`: add batches of rows until something ends it.

Batch B has the ids NAME-(B % 6)-0 to NAME-(B % 6)-19, so that most batches replace an earlier one.
Its number is printed when it is committed.
"""

import sys

from softquery.errors import SoftqueryError
from softquery.search import open_index

SLOTS, ROWS = 6, 20
WORDS = ("parcel", "password", "refund", "invoice", "shop", "address", "colour", "size", "mail")


def batch(name: str, number: int) -> list[dict[str, str]]:
    slot = number % SLOTS
    return [
        {
            "id": f"{name}-{slot}-{row}",
            "question": f"{WORDS[row % len(WORDS)]} {WORDS[number % len(WORDS)]} number {number}",
            "batch": str(number),
        }
        for row in range(ROWS)
    ]


def main(address: str, name: str, first: int) -> None:
    index = open_index(address, threads=1)
    for number in range(first, first + 10_000):
        index.add(batch(name, number))
        print(number, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except SoftqueryError as error:
        sys.exit(f"softquery: {error}")
