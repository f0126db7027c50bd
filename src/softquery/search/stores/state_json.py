"""The state of an index as a store keeps it: JSON, with the version of its layout."""

import json
import math
from dataclasses import asdict
from typing import Any

from softquery import __version__
from softquery.errors import ConfigError, InputError
from softquery.search.score.index_facts import IndexFacts
from softquery.search.storage.json_fields import Expected, check_fields, whole_number
from softquery.search.storage.manifest import Manifest, manifest_from
from softquery.search.stores.row_store import STORE_FORMAT, StoreState

_FINITE = Expected("a number", lambda value: type(value) in (int, float) and math.isfinite(value))
_FACTS = {
    "num_rows": whole_number(0, 2**60),
    **dict.fromkeys(("near", "mean", "spread", "same_answer"), _FINITE),
    "centre": Expected(
        "a list of numbers",
        lambda value: isinstance(value, list) and all(map(_FINITE.holds, value)),
    ),
}


def state_to_json(state: StoreState) -> str:
    """What a store keeps, except for the number of rows, which it counts."""
    facts = None if state.facts is None else asdict(state.facts)
    return json.dumps(
        {
            "store_format": STORE_FORMAT,
            "library_version": __version__,
            "usual_length": state.usual_length,
            "facts": facts,
            "manifest": json.loads(state.manifest.to_json()),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def state_from_json(data: object, num_rows: int, address: str) -> StoreState:
    """The state in what a store keeps.

    Args:
        data: The content of the JSON.
        num_rows: How many rows the store has.
        address: Where it lies, for errors.

    Raises:
        InputError: It is none, damaged, or newer than this version of softquery.
    """
    if not isinstance(data, dict) or type(data.get("store_format")) is not int:
        raise InputError("is not an index of softquery", source=address)
    check_format(data["store_format"], str(data.get("library_version")), address)
    try:
        length = data["usual_length"]
        if type(length) not in (int, float) or not 0 < length < math.inf:
            raise ValueError("its usual_length is not above 0")
        facts = _facts(data["facts"])
        manifest: Manifest = manifest_from(data["manifest"], address)
    except (ValueError, KeyError, TypeError, ConfigError) as error:
        raise InputError(f"is damaged ({error})", source=address) from None
    return StoreState(manifest, num_rows, float(length), facts)


def _facts(given: Any) -> IndexFacts | None:
    if given is None:
        return None
    found = check_fields(given, _FACTS, "facts")
    return IndexFacts(**{**found, "centre": tuple(found["centre"])})


def check_format(number: int, version: str, address: str) -> None:
    """Refuse a layout of tables that this version does not know."""
    if number != STORE_FORMAT:
        message = f"was written by softquery {version:.20}, in a layout ({number}) that this "
        raise InputError(f"{message}version ({__version__}) does not know", source=address)


def read_json_text(text: str, address: str) -> Any:
    """JSON that a store keeps as text."""
    try:
        return json.loads(text)
    except ValueError:
        raise InputError("is damaged (expected JSON)", source=address) from None
