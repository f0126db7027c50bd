"""BiDAF beside its equations in plain loops: scores, both attentions, the whole model.

Seo et al. (2017), Section 2, Eqs. 1-5. One word meets one word; padding is left out of every sum.
"""

import math

import pytest
import torch

from softquery.answers import ContextWindow, ReadingRules
from softquery.attention import Trilinear
from softquery.data import encode_windows
from softquery.models import BiDaf, BiDafConfig
from softquery.nn import SpellingConfig, TwoWayAttention
from softquery.tasks import SpanReading
from softquery.text import TextConfig, pipeline_from_words

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
SIZE = 6
SCORES = ("trilinear", "bilinear", "dot", "scaled_dot")


def trilinear(score, own, other):
    """w^T [h; u; h ∘ u] (Eq. 1)."""
    weight = torch.cat([score.query_weight, score.key_weight, score.product_weight])
    return (weight * torch.cat([own, other, own * other])).sum()


def pair_score(meeting, name):
    if name == "trilinear":
        return lambda own, other: trilinear(meeting.score, own, other)
    if name == "bilinear":
        weight = meeting.score.query_projection.weight
        return lambda own, other: (weight @ own) @ other
    scale = 1.0 if name == "dot" else math.sqrt(SIZE)
    return lambda own, other: own @ other / scale


def softmax(values):
    raised = [(value - max(values)).exp() for value in values]
    return [each / sum(raised) for each in raised]


def attention_flow(score, context, question):
    """G of Eq. 2 for one context [T, D] and one question [J, D], and the table of scores."""
    table = [[score(own, other) for other in question] for own in context]
    about = [
        sum(weight * other for weight, other in zip(softmax(row), question, strict=True))
        if len(question)
        else torch.zeros(SIZE)
        for row in table
    ]
    strongest = [max(row) if row else torch.zeros(()) for row in table]
    asked = softmax(strongest)
    summary = sum(weight * own for weight, own in zip(asked, context, strict=True))
    return torch.stack(
        [
            torch.cat([own, other, own * other, own * summary])
            for own, other in zip(context, about, strict=True)
        ]
    )


def ragged(seed=0):
    """Contexts of 5, 3 and 1 words, questions of 4, 0 and 2, with noise for padding."""
    torch.manual_seed(seed)
    context, question = torch.randn(3, 5, SIZE), torch.randn(3, 4, SIZE)
    lengths = torch.tensor([5, 3, 1]), torch.tensor([4, 0, 2])
    masks = [torch.arange(size) < length.unsqueeze(1) for size, length in
             zip((5, 4), lengths, strict=True)]  # fmt: skip
    return context, question, *masks


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_trilinear_scores_are_those_of_the_long_vectors(batch):
    torch.manual_seed(1)
    score = Trilinear(SIZE)
    query, key = torch.randn(*batch, 4, SIZE), torch.randn(*batch, 7, SIZE)
    found = score(query, key)
    assert found.shape == (*batch, 4, 7)
    flat = zip(
        query.reshape(-1, 4, SIZE), key.reshape(-1, 7, SIZE), found.reshape(-1, 4, 7), strict=True
    )
    for queries, keys, scores in flat:
        for place, own in enumerate(queries):
            for other_place, other in enumerate(keys):
                wanted = trilinear(score, own, other)
                torch.testing.assert_close(scores[place, other_place], wanted, **CLOSE)


@pytest.mark.parametrize("name", SCORES)
def test_attention_flows_both_ways_as_in_the_paper(name):
    torch.manual_seed(2)
    meeting = TwoWayAttention(SIZE, name)
    context, question, context_mask, question_mask = ragged()
    context.requires_grad_()
    question.requires_grad_()
    met = meeting(context, question, context_mask, question_mask)
    total = torch.zeros(())
    for row in range(3):
        own, other = context[row, context_mask[row]], question[row, question_mask[row]]
        wanted = attention_flow(pair_score(meeting, name), own, other)
        torch.testing.assert_close(met.aware[row, context_mask[row]], wanted, **CLOSE)
        total = total + (wanted * torch.arange(wanted.numel()).view_as(wanted)).sum()
    found = torch.zeros(())
    for row in range(3):
        part = met.aware[row, context_mask[row]]
        found = found + (part * torch.arange(part.numel()).view_as(part)).sum()
    inputs = [context, question, *meeting.parameters()]
    ours = torch.autograd.grad(found, inputs, retain_graph=True, allow_unused=True)
    theirs = torch.autograd.grad(total, inputs, allow_unused=True)
    for one, two in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", SCORES)
def test_padding_is_asked_nothing(name):
    torch.manual_seed(3)
    meeting = TwoWayAttention(SIZE, name)
    context, question, context_mask, question_mask = ragged()
    noisy = [
        torch.where(mask.unsqueeze(-1), side, 100 * torch.randn_like(side))
        for side, mask in ((context, context_mask), (question, question_mask))
    ]
    plain = meeting(context, question, context_mask, question_mask).aware
    found = meeting(*noisy, context_mask, question_mask).aware
    torch.testing.assert_close(found[context_mask], plain[context_mask], **CLOSE)


PIPELINE = pipeline_from_words(["who", "slept", "ada"], TextConfig())


def one_way(recurrent, steps):
    """An LSTM cell by cell, gates in torch's order."""
    hidden = cell = torch.zeros(recurrent.hidden_size)
    states = []
    for step in steps:
        gates = (
            recurrent.weight_ih_l0 @ step
            + recurrent.bias_ih_l0
            + recurrent.weight_hh_l0 @ hidden
            + recurrent.bias_hh_l0
        )
        enter, forget, candidate, leave = gates.chunk(4)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
        hidden = torch.sigmoid(leave) * torch.tanh(cell)
        states.append(hidden)
    return states


def both_ways(layer, steps):
    ahead = one_way(layer.forwards, steps)
    back = one_way(layer.backwards, steps[::-1])[::-1]
    return [torch.cat(pair) for pair in zip(ahead, back, strict=True)]


def embedded(model, words):
    ids = PIPELINE.look_up(words)
    rows = [model.embedder.table.weight[number] for number in ids]
    for layer in model.highways:
        gates = [torch.sigmoid(layer.gate(row)) for row in rows]
        rows = [
            gate * torch.relu(layer.change(row)) + (1 - gate) * row
            for gate, row in zip(gates, rows, strict=True)
        ]
    return rows


def test_the_whole_model_is_its_equations():
    """From words to the loss, without characters and without a batch (Eqs. 1-5)."""
    torch.manual_seed(4)
    config = BiDafConfig(
        vocab_size=PIPELINE.vocab_size, embedding_size=5, hidden_size=SIZE // 2,
        spelling=SpellingConfig(kind="none"), dropout=0.0,
    )  # fmt: skip
    model = BiDaf(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    windows = [
        ContextWindow(["who", "slept"], ["ada", "slept", "well", "who"]),
        ContextWindow(["who"], ["ada"]),
    ]
    labels = [(0, 1), (0, 0)]
    questions = encode_windows(windows, PIPELINE, max_characters=3, labels=labels)
    batch = questions.batch(torch.tensor([0, 1]), 6, question_length=3)
    output = model(batch)
    losses = []
    for row, (window, label) in enumerate(zip(windows, labels, strict=True)):
        context = both_ways(model.encoder, embedded(model, window.words))
        question = both_ways(model.encoder, embedded(model, window.question))
        score = pair_score(model.meeting, "trilinear")
        aware = attention_flow(score, torch.stack(context), torch.stack(question))
        states = list(aware)
        for layer in model.modelling:
            states = both_ways(layer, states)
        ending = both_ways(model.ending, states)
        chances = []
        for layer, features, found in (
            (model.head.start, states, output.start),
            (model.head.end, ending, output.end),
        ):
            logits = [
                layer.weight[0] @ torch.cat(each) for each in zip(aware, features, strict=True)
            ]
            torch.testing.assert_close(found[row, : len(logits)], torch.stack(logits), **CLOSE)
            chances.append(softmax(logits))
        losses.append(-chances[0][label[0]].log() - chances[1][label[1]].log())
    task = SpanReading(rules=ReadingRules())
    torch.testing.assert_close(task.loss(output, batch), sum(losses) / 2, **CLOSE)
