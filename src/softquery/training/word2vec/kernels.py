"""The compiled part of the CPU engine: one stretch of a corpus, read and learnt from.

The words around one centre word are taken together. Their vectors (hidden, [H, D]) meet those of
the targets ([T, D]) in small matrix products, one for the scores and one for the gradient of each
side, as in Ji et al. (2016), "Parallelizing Word2Vec in Shared and Distributed Memory", Section 3:
the centre word and one draw of noise words serve all words of the window. Threads write into the
same tables without locks (Hogwild, Niu et al. 2011).

H hidden vectors: one for each context word (skip-gram), or their mean (CBOW).
T targets: the centre word and the noise (negative sampling, NCE), or the inner nodes of the tree on
the way to the centre word (hierarchical softmax). D width, padded to a multiple of 16.

Nothing is allocated here, and the width is known at compile time, as the length of a tuple, so that
the loops over it become vector code.
"""

from typing import Any, Final

import numpy as np

from softquery.training.word2vec.compiling import compiled, fetch

END: Final = -1
"""Stands between sentences."""
SKIP_GRAM, CBOW = 0, 1
NEGATIVE, NCE, HIERARCHICAL = 0, 1, 2
BLOCK: Final = 16
"""Floats of a cache line: the width of a row is a multiple of it."""
SCORES: Final = 64
"""Scores that are turned into steps at once."""
TOGETHER: Final = 3
"""Targets whose scores are computed in one pass over a hidden vector."""
MEASURED: Final = 15
"""One window in so many plus one is measured for the loss; a power of two less one."""

_MULTIPLIER = np.uint64(6364136223846793005)
_INCREMENT = np.uint64(1442695040888963407)
_LOW_40 = np.uint64((1 << 40) - 1)
_SHIFT_24, _SHIFT_40 = np.uint64(24), np.uint64(40)
_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_LOWEST = np.float32(-3)
"""Half of the score from which on a sigmoid is taken to be 0."""


@compiled
def fetch_row(table: Any, row: Any, width: Any) -> None:
    """Begin to fetch a row; by the time that it is needed it is there."""
    for block in range(len(width)):
        fetch(table, row, block * BLOCK)


@compiled
def next_state(state: Any) -> Any:
    """The linear congruential generator of Knuth's MMIX; its upper bits are the good ones."""
    return state * _MULTIPLIER + _INCREMENT


@compiled
def draw_noise(state: Any, chance: Any, other: Any) -> Any:
    """A word from the noise distribution by the alias method (Walker 1977)."""
    spread = (state >> _SHIFT_24) * np.uint64(len(chance))
    word = np.int64(spread >> _SHIFT_40)
    return word if (spread & _LOW_40) < chance[word] else np.int64(other[word])


@compiled
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), and beyond ±6 exactly 0 or 1, as in the authors' program.

    What is right by so much is left alone, and vectors need not grow for it. The ratio of
    polynomials (minimax for tanh, degree 13 and 6) is within 3e-7 and can be computed in vectors.
    """
    x = x * _HALF
    square = x * x
    upper = np.float32(-2.76076847742355e-16)
    upper = upper * square + np.float32(2.00018790482477e-13)
    upper = upper * square + np.float32(-8.60467152213735e-11)
    upper = upper * square + np.float32(5.12229709037114e-08)
    upper = upper * square + np.float32(1.48572235717979e-05)
    upper = upper * square + np.float32(6.37261928875436e-04)
    upper = upper * square + np.float32(4.89352455891786e-03)
    lower = np.float32(1.19825839466702e-06)
    lower = lower * square + np.float32(1.18534705686654e-04)
    lower = lower * square + np.float32(2.26843463243900e-03)
    lower = lower * square + np.float32(4.89352518554385e-03)
    value = _HALF + _HALF * x * upper / lower
    return _ZERO if x <= _LOWEST else (_ONE if x >= -_LOWEST else value)


@compiled
def draw_targets(
    word: Any, num_negatives: Any, chance: Any, other: Any, state: Any, targets: Any, labels: Any
) -> Any:
    """The centre word and noise that is not the centre word; returns how many, and the state."""
    targets[0] = word
    labels[0] = _ONE
    number = 1
    for _ in range(num_negatives):
        state = next_state(state)
        noise = draw_noise(state, chance, other)
        if noise != word:
            targets[number] = noise
            labels[number] = _ZERO
            number += 1
    return number, state


@compiled
def path_targets(word: Any, starts: Any, nodes: Any, turns: Any, targets: Any, labels: Any) -> Any:
    """The inner nodes on the way to a word, and where it turns; returns how many."""
    start, end = starts[word], starts[word + 1]
    for place in range(start, end):
        targets[place - start] = nodes[place]
        labels[place - start] = turns[place]
    return end - start


@compiled
def add_row(table: Any, row: Any, place: Any, hidden: Any, is_first: Any, width: Any) -> None:
    """Add a row of a table to a hidden vector, which begins with the first."""
    size = BLOCK * len(width)
    if is_first:
        for d in range(size):
            hidden[place, d] = table[row, d]
    else:
        for d in range(size):
            hidden[place, d] += table[row, d]


@compiled
def divide(hidden: Any, place: Any, count: Any, width: Any) -> None:
    """Turn a sum into a mean."""
    share = _ONE / np.float32(count)
    for d in range(BLOCK * len(width)):
        hidden[place, d] *= share


@compiled
def gather(
    context: Any,
    num_context: Any,
    mixed: Any,
    table: Any,
    starts: Any,
    rows: Any,
    hidden: Any,
    width: Any,
) -> Any:
    """Hidden vectors: the mean of each context word's rows, or of all of them together."""
    place, count = 0, 0
    for number in range(num_context):
        word = context[number]
        for index in range(starts[word], starts[word + 1]):
            add_row(table, np.int64(rows[index]), place, hidden, count == 0, width)
            count += 1
        if number == num_context - 1 or not mixed:
            if count > 1:
                divide(hidden, place, count, width)
            place, count = place + 1, 0
    return place


@compiled
def score(
    hidden: Any, num_hidden: Any, output: Any, targets: Any, padded: Any, scores: Any, width: Any
) -> None:
    """Scores of every hidden vector with every target: the first small matrix product."""
    for n in range(0, padded, TOGETHER):
        one, two, three = targets[n], targets[n + 1], targets[n + 2]
        for h in range(num_hidden):
            first, second, third = _ZERO, _ZERO, _ZERO
            for d in range(BLOCK * len(width)):
                value = hidden[h, d]
                first += value * output[one, d]
                second += value * output[two, d]
                third += value * output[three, d]
            at = h * padded + n
            scores[at], scores[at + 1], scores[at + 2] = first, second, third


@compiled
def shift(
    scores: Any,
    num_hidden: Any,
    targets: Any,
    num_targets: Any,
    padded: Any,
    bias: Any,
    log_rate: Any,
) -> None:
    """NCE: add the target's bias less the log of how often noise is expected to draw it."""
    for n in range(num_targets):
        offset = bias[targets[n]] - log_rate[targets[n]]
        for h in range(num_hidden):
            scores[h * padded + n] += offset


@compiled
def update_bias(
    steps: Any, num_hidden: Any, targets: Any, num_targets: Any, padded: Any, bias: Any
) -> None:
    """NCE: move the biases of the targets."""
    for n in range(num_targets):
        for h in range(num_hidden):
            bias[targets[n]] += steps[h * padded + n]


@compiled
def measure(scores: Any, labels: Any, num_hidden: Any, num_targets: Any, padded: Any) -> Any:
    """The loss of a window: -log of the probability of each label, summed over targets."""
    total = 0.0
    for h in range(num_hidden):
        for n in range(num_targets):
            value = np.float64(scores[h * padded + n])
            towards = value if labels[n] > 0 else -value
            total += np.log1p(np.exp(-abs(towards))) - min(towards, 0.0)
    return total


@compiled
def scores_to_steps(
    scores: Any, blocks: Any, labels: Any, num_hidden: Any, num_targets: Any, padded: Any, rate: Any
) -> None:
    """Replace each score by (label - sigmoid(score)) times the learning rate."""
    for b in range((num_hidden * padded + SCORES - 1) // SCORES):
        for d in range(SCORES):
            blocks[b, d] = -rate * sigmoid(blocks[b, d])
    for n in range(num_targets):
        if labels[n] > 0:
            for h in range(num_hidden):
                scores[h * padded + n] += rate
    for n in range(num_targets, padded):
        for h in range(num_hidden):
            scores[h * padded + n] = _ZERO


@compiled
def input_steps(
    steps: Any, num_hidden: Any, output: Any, targets: Any, padded: Any, moved: Any, width: Any
) -> None:
    """How the hidden vectors shall move: steps times targets, the second matrix product."""
    size = BLOCK * len(width)
    for n in range(0, padded, TOGETHER):
        one, two, three = targets[n], targets[n + 1], targets[n + 2]
        for h in range(num_hidden):
            at = h * padded + n
            first, second, third = steps[at], steps[at + 1], steps[at + 2]
            if n == 0:
                for d in range(size):
                    moved[h, d] = (
                        first * output[one, d] + second * output[two, d] + third * output[three, d]
                    )
            else:
                for d in range(size):
                    moved[h, d] += (
                        first * output[one, d] + second * output[two, d] + third * output[three, d]
                    )


@compiled
def update_output(
    steps: Any,
    hidden: Any,
    num_hidden: Any,
    output: Any,
    targets: Any,
    num_targets: Any,
    padded: Any,
    width: Any,
) -> None:
    """Move the targets: steps, transposed, times hidden: the third matrix product."""
    size = BLOCK * len(width)
    for n in range(num_targets):
        row = targets[n]
        for h in range(0, num_hidden - 1, 2):
            first, second = steps[h * padded + n], steps[(h + 1) * padded + n]
            for d in range(size):
                output[row, d] += first * hidden[h, d] + second * hidden[h + 1, d]
        if num_hidden % 2:
            first = steps[(num_hidden - 1) * padded + n]
            for d in range(size):
                output[row, d] += first * hidden[num_hidden - 1, d]


@compiled
def update_input(
    context: Any,
    num_context: Any,
    mixed: Any,
    table: Any,
    starts: Any,
    rows: Any,
    moved: Any,
    width: Any,
) -> None:
    """Move the rows of the context words; each row of a mean moves as far as the mean shall."""
    for number in range(num_context):
        h = 0 if mixed else number
        word = context[number]
        for index in range(starts[word], starts[word + 1]):
            row = np.int64(rows[index])
            for d in range(BLOCK * len(width)):
                table[row, d] += moved[h, d]


@compiled
def thin_out(ids: Any, keep: Any, state: Any, text: Any) -> Any:
    """Copy a stretch without the words that subsampling drops; returns its length, and the state.

    The copy begins and ends with the end of a sentence, so that no window runs over it.
    """
    text[0] = END
    length = 1
    for place in range(len(ids)):
        word = ids[place]
        if word >= 0:
            state = next_state(state)
            if (state >> _SHIFT_24) >= keep[word]:
                continue
        text[length] = word
        length += 1
    text[length] = END
    return length + 1, state


@compiled
def leap_of(length: Any) -> Any:
    """How far to leap so that all of `length` places are visited once, neighbours far apart.

    Overlapping windows are much alike; learning from one after the other costs analogies a point.
    """
    leap = max(1, np.int64(length * 0.618034))
    while True:
        a, b = length, leap
        while b:
            a, b = b, a % b
        if a == 1:
            return leap
        leap += 1


@compiled
def look_around(text: Any, centre: Any, reach: Any, context: Any) -> Any:
    """The words up to `reach` places to each side within the sentence; returns how many."""
    number = 0
    near = centre - 1
    while near >= centre - reach and text[near] >= 0:
        context[number] = text[near]
        number += 1
        near -= 1
    near = centre + 1
    while near <= centre + reach and text[near] >= 0:
        context[number] = text[near]
        number += 1
        near += 1
    return number


@compiled
def take_over(waiting: Any, current: Any, number: Any) -> None:
    """Make what was prepared the current window's."""
    for place in range(number):
        current[place] = waiting[place]


@compiled
def learn_stretch(
    ids: Any,
    rates: Any,
    seed: Any,
    weights: Any,
    lexicon: Any,
    choices: Any,
    work: Any,
    width: Any,
) -> Any:
    """Learn from a stretch of whole sentences, `END` between them.

    While one window is learnt from, the memory fetches what the next one needs.

    Args:
        ids: int32, the words.
        rates: The learning rate at the beginning and at the end of the stretch.
        seed: uint64, of this stretch alone.
        weights: The tables.
        lexicon: What is known of the words.
        choices: The settings.
        work: Memory of this thread.
        width: A tuple as long as a row has blocks.

    Returns:
        The summed loss of the windows that were measured, and how many vectors asked in them.
    """
    # Unpacked once: handing whole tuples on to each small function would cost more than its work.
    table, output, bias = weights
    keep, starts, rows, chance, other, log_rate, path_starts, path_nodes, path_turns = lexicon
    text, context, targets, labels, hidden, moved, scores, score_blocks = work[:8]
    next_context, next_targets, next_labels = work[8:]
    mixed, nce = choices.architecture == CBOW, choices.objective == NCE
    length, state = thin_out(ids, keep, np.uint64(seed), text)
    leap = leap_of(length)
    loss, asked, windows, centre = 0.0, 0, 0, 0
    num_context, num_targets, rate = 0, 0, _ZERO
    for visit in range(length + 1):
        num_next, num_next_targets = 0, 0
        if visit < length:
            centre = centre + leap if centre + leap < length else centre + leap - length
            word = np.int64(text[centre])
            if word < 0:
                continue
            state = next_state(state)
            reach = np.int64((state >> _SHIFT_40) % np.uint64(choices.window)) + 1
            num_next = look_around(text, centre, reach, next_context)
            if num_next == 0:
                continue
            if choices.objective == HIERARCHICAL:
                num_next_targets = path_targets(
                    word, path_starts, path_nodes, path_turns, next_targets, next_labels
                )
            else:
                num_next_targets, state = draw_targets(
                    word, choices.num_negatives, chance, other, state, next_targets, next_labels
                )
            for n in range(num_next_targets):
                fetch_row(output, next_targets[n], width)
            for n in range(num_next):
                fetch_row(table, np.int64(next_context[n]), width)
        if num_context > 0:
            targets[num_targets] = targets[num_targets + 1] = 0  # padding, whose steps are 0
            padded = (num_targets + TOGETHER - 1) // TOGETHER * TOGETHER
            num_hidden = gather(context, num_context, mixed, table, starts, rows, hidden, width)
            score(hidden, num_hidden, output, targets, padded, scores, width)
            if nce:
                shift(scores, num_hidden, targets, num_targets, padded, bias, log_rate)
            windows += 1
            if windows & MEASURED == 1:
                loss += measure(scores, labels, num_hidden, num_targets, padded)
                asked += num_hidden
            scores_to_steps(scores, score_blocks, labels, num_hidden, num_targets, padded, rate)
            input_steps(scores, num_hidden, output, targets, padded, moved, width)
            update_output(scores, hidden, num_hidden, output, targets, num_targets, padded, width)
            if nce:
                update_bias(scores, num_hidden, targets, num_targets, padded, bias)
            update_input(context, num_context, mixed, table, starts, rows, moved, width)
        take_over(next_context, context, num_next)
        take_over(next_targets, targets, num_next_targets)
        take_over(next_labels, labels, num_next_targets)
        num_context, num_targets = num_next, num_next_targets
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * visit / length)
    return loss, asked
