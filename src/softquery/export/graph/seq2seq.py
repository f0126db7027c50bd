"""A recurrent encoder–decoder as two graphs: `encode` reads a source, `step` says one more token.

N rows, S tokens of the source, D width of a word, H of a state, E of an encoder state, A of what a
token of the source adds to the layers that read the source, V tokens of the vocabulary.
"""

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from softquery.export.graph.blocks import LOWEST, log_probabilities
from softquery.export.graph.builder import Graph

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
SUMMARIES = ("every_step", "mean", "max")
"""Contexts that are one vector for all steps."""
_WAYS = {"forwards": "forward", "backwards": "reverse", "both": "bidirectional"}


def encode_graph(graph: Graph, config: dict[str, Any]) -> None:
    """From ids [N, S] and a mask [N, S] of 1 and 0 to states, keys and the decoder's beginning."""
    ids = graph.input("ids", INT, ["N", "S"])
    mask = graph.input("mask", FLOAT, ["N", "S"])
    total = graph.node("ReduceSum", mask, graph.constant([1], np.int64), keepdims=0)
    lengths = graph.node("Cast", total, to=TensorProto.INT32)
    words = "words.target" if config["tie"] == "all" else "words.source"
    vectors = graph.table(ids, words)
    steps = graph.node("Transpose", vectors, perm=[1, 0, 2])  # [S, N, D]
    ends = []
    for layer in range(config["num_layers"]):
        steps, *end = _read(graph, config, steps, lengths, layer)
        ends.append(end)
    states = graph.node("Transpose", steps, perm=[1, 0, 2])  # [N, S, E]
    for layer, end in enumerate(ends):
        for part, value in zip(("hidden", "cell"), end, strict=False):
            first = _bridged(graph, value, f"bridge.{part}.{layer}", is_activated=part == "hidden")
            graph.output(first, f"past_{part}_{layer}", FLOAT, ["N", config["hidden_size"]])
    if config["context"] == "attention":
        graph.output(_keys(graph, config, states), "source_keys", FLOAT, ["N", "S", "F"])
        shares = _shares(graph, states, asks_before=config["attention"]["asker"] == "previous")
        graph.output(shares, "source_shares", FLOAT, ["N", "S", "A"])
    elif config["context"] in SUMMARIES:
        whole = _whole(graph, config["context"], states, mask, last=ends[-1][0])
        summary = graph.node("Tanh", graph.linear(whole, "summarise"))
        shares = _shares(graph, summary, asks_before=True)
        graph.output(shares, "source_shares", FLOAT, ["N", "A"])


def step_graph(graph: Graph, config: dict[str, Any]) -> None:
    """From the last tokens [N], the past and the source to log-probabilities [N, V]."""
    size = config["hidden_size"]
    asker = config["attention"]["asker"] if config["context"] == "attention" else None
    tokens = graph.input("tokens", INT, ["N"])
    parts = ("hidden", "cell") if config["cell"] == "lstm" else ("hidden",)
    past = [
        [graph.input(f"past_{part}_{layer}", FLOAT, ["N", size]) for part in parts]
        for layer in range(config["num_layers"])
    ]
    vectors = graph.table(tokens, "words.target")
    share = graph.linear(vectors, "layers.0.input")
    context = weights = None
    if asker == "previous":
        context, weights = _Source(graph, config).ask(past[-1][0])
    elif config["context"] in SUMMARIES:
        context = graph.input("source_shares", FLOAT, ["N", "A"])
    if context is not None:
        widths = [graph.width("layers.0.added"), graph.width("readout.source")]
        added, context = graph.split(context, widths, axis=-1)
        share = graph.node("Add", share, added)
    elif asker == "current" and config["attention"]["input_feeding"]:
        fed = graph.input("past_fed", FLOAT, ["N", size])
        share = graph.node("Add", share, graph.linear(fed, "layers.0.added", bias=False))
    new = _stepped(graph, config, share, past)
    states = top = new[-1][0]
    if asker == "current":
        context, weights = _Source(graph, config).ask(top)
        own = graph.linear(top, "readout.own", bias=False)
        states = graph.node("Tanh", graph.node("Add", context, own))
        if config["attention"]["input_feeding"]:
            graph.output(states, "next_fed", FLOAT, ["N", size])
    elif context is not None:
        own = graph.linear(graph.node("Concat", top, vectors, axis=-1), "readout.own")
        states = _larger(graph, graph.node("Add", own, context))
    for layer, values in enumerate(new):
        for part, value in zip(parts, values, strict=True):
            graph.output(value, f"next_{part}_{layer}", FLOAT, ["N", size])
    if graph.has("words.narrow.weight"):
        states = graph.linear(states, "words.narrow", bias=False)
    graph.output(log_probabilities(graph, states), "log_probabilities", FLOAT, ["N", "V"])
    if weights is not None:
        graph.output(weights, "attention", FLOAT, ["N", "S"])


def _whole(graph: Graph, context: str, states: str, mask: str, *, last: str) -> str:
    """One vector [N, E] of a source: its last state, or the mean or maximum of all [N, S, E]."""
    if context == "every_step":
        return last
    one, column = (graph.constant([axis], np.int64) for axis in (1, 2))
    real = graph.node("Unsqueeze", mask, column)
    if context == "mean":
        total = graph.node("ReduceSum", graph.node("Mul", states, real), one, keepdims=0)
        return graph.node("Div", total, graph.node("ReduceSum", mask, one, keepdims=1))
    missing = graph.node("Sub", graph.constant(1.0, np.float32), real)
    low = graph.node("Mul", missing, graph.constant(LOWEST, np.float32))
    return graph.node("ReduceMax", graph.node("Add", states, low), axes=[1], keepdims=0)


def _shares(graph: Graph, states: str, *, asks_before: bool) -> str:
    """What the source adds to the layers that read it: to the gates, and before the words.

    A mean of states is multiplied as the states are: the mean of the products is the product of the
    mean. So these matrices are read once a sentence in place of once a step.
    """
    readout = graph.linear(states, "readout.source", bias=False)
    if not asks_before:
        return readout
    added = graph.linear(states, "layers.0.added", bias=False)
    return graph.node("Concat", added, readout, axis=-1)


class _Source:
    """What a step asks."""

    def __init__(self, graph: Graph, config: dict[str, Any]) -> None:
        self.graph, self.score = graph, config["attention"]["score"]
        self.size = config["hidden_size"]
        self.keys = graph.input("source_keys", FLOAT, ["N", "S", "F"])
        self.shares = graph.input("source_shares", FLOAT, ["N", "S", "A"])
        missing = graph.node(
            "Sub", graph.constant(1.0, np.float32), graph.input("mask", FLOAT, ["N", "S"])
        )
        low = graph.node("Mul", missing, graph.constant(LOWEST, np.float32))
        self.hidden = graph.node("Unsqueeze", low, graph.constant([1], np.int64))

    def ask(self, query: str) -> tuple[str, str]:
        """What comes back [N, A] for a state [N, H], and from where [N, S]."""
        graph = self.graph
        one = graph.constant([1], np.int64)
        scores = graph.node("Add", self._scores(query), self.hidden)
        weights = graph.node("Softmax", scores, axis=-1)
        mixed = graph.node("MatMul", weights, self.shares)
        return graph.node("Squeeze", mixed, one), graph.node("Squeeze", weights, one)

    def _scores(self, query: str) -> str:
        """How well each key answers: [N, 1, S]."""
        graph, keys = self.graph, self.keys
        one = graph.constant([1], np.int64)
        if self.score in ("additive", "concat"):
            name = "query_projection" if self.score == "additive" else "query_part"
            asked = graph.linear(query, f"asking.score.{name}", bias=False)
            activated = graph.node(
                "Tanh", graph.node("Add", graph.node("Unsqueeze", asked, one), keys)
            )
            energy = graph.linear(activated, "asking.score.energy", bias=False)
            return graph.node("Transpose", energy, perm=[0, 2, 1])
        query = graph.node("Unsqueeze", query, one)
        if self.score == "cosine":
            query, keys = (
                graph.node("LpNormalization", each, axis=-1, p=2) for each in (query, keys)
            )
        turned = graph.node("Transpose", keys, perm=[0, 2, 1])
        if self.score == "trilinear":  # what weighs the query alone cancels in the softmax
            turned, alone = graph.split(turned, [self.size, 1], axis=1)
            return graph.node("Add", graph.node("MatMul", query, turned), alone)
        scores = graph.node("MatMul", query, turned)
        if self.score == "scaled_dot":
            scale = graph.constant(float(self.size) ** -0.5, np.float32)
            scores = graph.node("Mul", scores, scale)
        return scores


def _read(
    graph: Graph, config: dict[str, Any], steps: str, lengths: str, layer: int
) -> tuple[str, ...]:
    """One layer over [S, N, D]: its states [S, N, E], and where it ended, [N, E] each."""
    operator = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}[config["cell"]]
    settings: dict[str, Any] = {
        "hidden_size": config["hidden_size"],
        "direction": _WAYS[config["direction"]],
    }
    if operator == "GRU":
        settings["linear_before_reset"] = 1
    names = [f"read_{layer}_{part}" for part in ("all", "hidden", "cell")]
    names = names if operator == "LSTM" else names[:2]
    inputs = [steps, *(graph.weight(f"reader.{layer}.{letter}") for letter in "WRB"), lengths]
    graph.nodes.append(helper.make_node(operator, inputs, names, **settings))
    rows = graph.node("Transpose", names[0], perm=[0, 2, 1, 3])
    states = graph.node("Reshape", rows, graph.constant([0, 0, -1], np.int64))
    ends = []
    for name in names[1:]:
        turned = graph.node("Transpose", name, perm=[1, 0, 2])
        ends.append(graph.node("Reshape", turned, graph.constant([0, -1], np.int64)))
    return (states, *ends)


def _bridged(graph: Graph, value: str, name: str, *, is_activated: bool) -> str:
    if not graph.has(f"{name}.weight"):
        return value
    brought = graph.linear(value, name)
    return graph.node("Tanh", brought) if is_activated else brought


def _keys(graph: Graph, config: dict[str, Any], states: str) -> str:
    """The states as the score wants them."""
    score = config["attention"]["score"]
    if score == "additive":
        return graph.linear(states, "asking.score.key_projection", bias=False)
    if score == "concat":
        return graph.linear(states, "asking.score.key_part", bias=False)
    if score == "general":
        return graph.node("MatMul", states, graph.weight("asking.score.turned"))
    if graph.has("asking.key_projection.weight"):
        states = graph.linear(states, "asking.key_projection", bias=False)
    if score != "trilinear":
        return states
    product, own = (graph.weight(f"asking.score.{part}.weight") for part in ("product", "key"))
    last = graph.constant([2], np.int64)
    alone = graph.node("ReduceSum", graph.node("Mul", states, own), last, keepdims=1)
    return graph.node("Concat", graph.node("Mul", states, product), alone, axis=2)


def _stepped(
    graph: Graph, config: dict[str, Any], share: str, past: list[list[str]]
) -> list[list[str]]:
    """One step of every layer."""
    new: list[list[str]] = []
    for layer, state in enumerate(past):
        if layer:
            share = graph.linear(new[-1][0], f"layers.{layer}.input")
        recurrent = graph.linear(state[0], f"layers.{layer}.recurrent")
        new.append(_moved(graph, config, share, recurrent, state))
    return new


def _moved(
    graph: Graph, config: dict[str, Any], share: str, recurrent: str, state: list[str]
) -> list[str]:
    """A cell's next state; gates stand in torch's order."""
    size = config["hidden_size"]
    if config["cell"] == "rnn":
        return [graph.node("Tanh", graph.node("Add", share, recurrent))]
    if config["cell"] == "gru":
        ours, theirs = ([_part(graph, each, g, size) for g in range(3)]
                        for each in (share, recurrent))  # fmt: skip
        reset, update = (
            graph.node("Sigmoid", graph.node("Add", ours[gate], theirs[gate])) for gate in range(2)
        )
        held = graph.node("Mul", reset, theirs[2])
        candidate = graph.node("Tanh", graph.node("Add", ours[2], held))
        apart = graph.node("Mul", update, graph.node("Sub", state[0], candidate))
        return [graph.node("Add", candidate, apart)]
    total = graph.node("Add", share, recurrent)
    enter, forget, candidate, leave = (_part(graph, total, gate, size) for gate in range(4))
    kept = graph.node("Mul", graph.node("Sigmoid", forget), state[1])
    taken = graph.node("Mul", graph.node("Sigmoid", enter), graph.node("Tanh", candidate))
    cell = graph.node("Add", kept, taken)
    return [graph.node("Mul", graph.node("Sigmoid", leave), graph.node("Tanh", cell)), cell]


def _part(graph: Graph, value: str, gate: int, size: int) -> str:
    bounds = [graph.constant([at], np.int64) for at in (gate * size, (gate + 1) * size, 1)]
    return graph.node("Slice", value, *bounds)


def _larger(graph: Graph, pairs: str) -> str:
    """Maxout: the larger of each pair."""
    apart = graph.node("Reshape", pairs, graph.constant([0, -1, 2], np.int64))
    return graph.node("ReduceMax", apart, axes=[2], keepdims=0)
