"""An actor of a bulk run: opens the model once, answers shards, and commits them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from softquery.errors import SoftqueryError
from softquery.ray.bulk_work import BulkWork
from softquery.ray.commits import ShardCommit, commit_name, commit_shard
from softquery.ray.places import open_place
from softquery.ray.row_messages import Message, ShardPart, told_error, unpacked_rows
from softquery.ray.shard_answers import ShardAnswerer, open_answerer


class ShardActor:
    """What Ray calls with a shard at a time.

    A mistake of the user, a model that is not there, is told as a message with the first shard:
    raised in a constructor, it would be tried again and again.

    Args:
        work: The run.
    """

    def __init__(self, work: BulkWork) -> None:
        self._work = work
        self._fault: SoftqueryError | None = None
        self._answerer: ShardAnswerer | None = None
        try:
            self._place = open_place(work.output)
            self._answerer = open_answerer(work)
        except SoftqueryError as error:
            self._fault = error

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str]]:
        """Messages for messages: of a shard, that it is committed; all others as they are."""
        pairs = zip(batch["message"], batch["rows"], strict=True)
        return {"message": [self._said(str(message), rows) for message, rows in pairs]}

    def _said(self, message: str, rows: bytes) -> str:
        told: Message = json.loads(message)
        if told.pop("kind") != "shard":
            return message
        try:
            answer = self._committed(told, bytes(rows))
        except SoftqueryError as error:
            answer = told_error(error)
        return json.dumps(answer, ensure_ascii=False)

    def _committed(self, told: Message, contents: bytes) -> Message:
        uri = told.pop("uri")
        part = ShardPart(**{**told, "bad": tuple(map(tuple, told["bad"]))})
        if self._fault is not None:
            raise self._fault
        done = commit_name(part.name)
        if self._place.has(done):  # by an attempt whose worker was killed before it could say so
            return {"kind": "commit", **json.loads(self._place.read(done))}
        commit = self._answered(part, unpacked_rows(contents, uri))
        return {"kind": "commit", **commit}

    def _answered(self, part: ShardPart, rows: Sequence[Any]) -> dict[str, Any]:
        found, num_bad, num_cut, data = b"", len(part.bad), 0, None
        bad, num_answered = list(part.bad), 0
        if rows and self._answerer is not None:
            answers = self._answerer.answer(rows)
            bad += [(error.row, error.message) for error in answers.bad]
            found, num_answered, num_cut = answers.contents, answers.num_answered, answers.num_cut
            num_bad, data = len(bad), f"{part.name}.{self._work.form}"
        commit = ShardCommit(
            shard=part.name,
            file=part.file,
            start=part.start,
            end=part.end,
            rows=part.rows,
            data=data,
            num_answered=num_answered,
            num_bad=num_bad,
            num_cut=num_cut,
        )
        commit_shard(self._place, commit, found, bad)
        return asdict(commit)
