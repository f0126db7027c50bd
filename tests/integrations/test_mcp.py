"""An assistant's side: the real client starts `softquery mcp` and speaks to it over stdio."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason='needs "softquery[mcp]"')
pytest.importorskip("softquery_models", reason="needs softquery-models")

from mcp import Client, StdioServerParameters, stdio_client

import softquery

PAIR = {"first": "How do I pay by card?", "second": "How can I pay by card?"}
QUERY = "A man is eating."
DOCUMENTS = ["It rains.", "Someone eats.", "Nobody eats."]


def ask(*calls, arguments=()):
    """The tools that a server offers, and what it answers to calls."""
    command = ["-m", "softquery", "mcp", "--threads", "1", *arguments]

    async def session():
        server = stdio_client(StdioServerParameters(command=sys.executable, args=command))
        async with Client(server) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(asyncio.wait_for(session(), timeout=120))


def content(answer):
    assert not answer.is_error, answer.content
    found = answer.structured_content
    return found["result"] if list(found) == ["result"] else found


def test_every_tool_answers_as_the_models_do(faq):
    question, context = "Who slept?", "Ada slept. Bob read a book."
    tools, answers = ask(
        ("match", {**PAIR, "model": "nli-en"}),
        ("match", PAIR),
        ("rank", {"query": QUERY, "documents": DOCUMENTS, "top_k": 2}),
        ("classify", {"texts": ["A wonderful film.", "What a waste."]}),
        ("read", {"question": question, "context": context}),
        ("search", {"query": "I forgot my password", "top_k": 2}),
        ("search", {"query": "Who won the football match yesterday?"}),
        arguments=[
            *("--model", "match-en", "--model", "nli-en", "--model", "sentiment-en"),
            *("--model", "read-en", "--index", str(faq)),
        ],
    )
    assert set(tools) == {"match", "rank", "classify", "read", "search"}
    assert tools["match"].description.endswith("Model: match-en, nli-en.")
    assert tools["match"].input_schema["required"] == ["first", "second"]
    inferred, matched, ranked, classified, was_read, found, nothing = map(content, answers)
    pair = (PAIR["first"], PAIR["second"])
    for name, answer in (("nli-en", inferred), ("match-en", matched)):
        own = softquery.load(name, threads=1).predict([pair])[0].record(*pair)
        assert {each: answer[each] for each in own} == own
    assert inferred["meaning"] in ("follows from it", "neither follows nor contradicts")
    assert matched["meaning"] == "same meaning"
    matcher = softquery.load("match-en", threads=1)
    assert ranked == matcher.rank(QUERY, DOCUMENTS, top_k=2)
    assert [each["label"] for each in classified] == ["positive", "negative"]
    assert was_read["answer"] == "Ada"
    own = softquery.Index.open(faq, threads=1).search("I forgot my password", top_k=2)
    assert len(own) == 1
    for given, hit in zip(found["hits"], own, strict=True):
        # The server's index has more threads, which add in another order.
        assert given == {**hit, "score": pytest.approx(hit["score"], abs=1e-5)}
    assert nothing["hits"] == []
    assert len(nothing["nearest"]) == 5


def test_an_index_alone_offers_search_alone(faq):
    tools, _ = ask(arguments=["--index", str(faq)])
    assert set(tools) == {"search"}


def test_shipped_models_are_offered_where_none_is_named():
    tools, answers = ask(
        ("match", {"first": "怎么付款", "second": "如何支付", "model": "match-zh"})
    )
    assert set(tools) == {"match", "rank", "classify", "read"}
    assert content(answers[0])["meaning"] == "same meaning"


def test_mistakes_are_told_to_the_assistant():
    _, answers = ask(
        ("match", {**PAIR, "model": "match"}),
        ("rank", {"query": "a", "documents": DOCUMENTS, "top_k": 0}),
        ("match", {"first": "a"}),
        ("match", PAIR),
        arguments=["--model", "match-en"],
    )
    *wrong, right = answers
    told = [each.content[0].text for each in wrong]
    assert [each.is_error for each in wrong] == [True] * 3
    assert told[0].endswith("no model 'match' here (known: match-en)")
    assert "top_k must be" in told[1]
    assert "second" in told[2]
    assert content(right)["meaning"] == "same meaning"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--index", "nowhere"], "nowhere: is no index"),
        (["--model", "embed-en"], "embed-en: no tool for a model of kind 'sentence-encoder'"),
        (["--model", "match-xx"], "no model called 'match-xx'"),
    ],
)
def test_a_wrong_start_is_one_line(arguments, said):
    command = [sys.executable, "-m", "softquery", "mcp", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_the_page(run_examples, monkeypatch):
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    monkeypatch.setenv("PATH", beside)
    assert run_examples("MCP") >= 4
