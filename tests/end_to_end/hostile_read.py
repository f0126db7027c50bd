"""Bad input for readers: to train, to read, to evaluate, to export. See docs/read.md.

Every case runs in a folder of its own, which holds `data/` with `train.json` and `dev.json`,
`questions.json` to answer or evaluate on, and `model/`, a small exported reader.
"""

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile_cases import ANY, JUNK, Case, both, changed, cut, file, gone, with_one_more_word
from tiny_questions import english, squad

TRAIN = "train reader --data data --output new"
ONE = "read 'Who sang?' --context 'Ada sang.' --model model"
MANY = "read --input questions.json --output out.jsonl --model model"
EVALUATE = "evaluate model --data questions.json"
EXPORT = "export model --output new"


def spoilt(name: str, change: Callable[[dict[str, Any]], object]):
    """A sound file, with something done to its second question."""
    made = squad(english(12))
    change(made["data"][0]["paragraphs"][0])
    return file(name, json.dumps(made))


def answer(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda paragraph: paragraph["qas"][1]["answers"][0].update(changes)


def question(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda paragraph: paragraph["qas"][1].update(changes)


def context(text: object) -> Callable[[dict[str, Any]], object]:
    return lambda paragraph: paragraph.update(context=text)


def only(count: int):
    """A file of so many contexts."""
    return file("data/train.json", json.dumps(squad(english(count))))


def no_answer_anywhere(place: Path) -> None:
    made = squad(english(12))
    for paragraph in made["data"][0]["paragraphs"]:
        for asked in paragraph["qas"]:
            asked["answers"][0]["answer_start"] = -1
    (place / "data" / "train.json").write_text(json.dumps(made))


LINE = '{"context": "Ada sang.", "question": "Who?", "answers": []}\n'
FIRST = "article 1, paragraph 1, question 1 (id 0-who)"
SECOND = "article 1, paragraph 1, question 2 (id 0-where)"

TRAINING = [
    Case(
        title="an answer outside the context",
        command=TRAIN,
        damage=spoilt("data/train.json", answer(answer_start=900)),
        said=f'data/train.json, row 1: {SECOND}: answer "{ANY}" at 900 lies outside the context, '
        f"which has {ANY} characters",
    ),
    Case(
        title="an answer that stands elsewhere",
        command=TRAIN,
        damage=spoilt("data/train.json", answer(answer_start=1)),
        said=f'data/train.json, row 1: {SECOND}: answer "{ANY}" is not the text at 1: "{ANY}"',
    ),
    Case(
        title="an answer without a start",
        command=TRAIN,
        damage=spoilt("data/train.json", question(answers=[{"text": "Ada"}])),
        said=f"data/train.json, row 1: {SECOND}: an answer must be an object with a text and an "
        "answer_start",
    ),
    Case(
        title="an empty answer",
        command=TRAIN,
        damage=spoilt("data/train.json", answer(text=" ")),
        said=f"data/train.json, row 1: {SECOND}: an answer is empty",
    ),
    Case(
        title="no answers, and not said to be impossible",
        command=TRAIN,
        damage=spoilt("data/train.json", question(answers=[])),
        said=f"data/train.json, row 1: {SECOND}: has no answers and is not marked is_impossible",
    ),
    Case(
        title="answers to an impossible question",
        command=TRAIN,
        damage=spoilt("data/train.json", question(is_impossible=True)),
        said=f"data/train.json, row 1: {SECOND}: is_impossible, but has answers",
    ),
    Case(
        title="an empty question",
        command=TRAIN,
        damage=spoilt("data/train.json", question(question="")),
        said=f"data/train.json, row 1: {SECOND}: the question is empty",
    ),
    Case(
        title="an empty context",
        command=TRAIN,
        damage=spoilt("data/train.json", context(" ")),
        said=f"data/train.json, row 1: {FIRST}: the context is empty",
    ),
    Case(
        title="a context that is a number",
        command=TRAIN,
        damage=spoilt("data/train.json", context(5)),
        said=f"data/train.json, row 1: {FIRST}: context must be text",
    ),
    Case(
        title="answers that stand nowhere",
        command=TRAIN,
        damage=no_answer_anywhere,
        said="data/train.json: no answer to any question lies within one window",
    ),
    Case(
        title="a bad row of JSONL",
        command=TRAIN,
        damage=both(gone("data/train.json"), file("data/train.jsonl", LINE * 2 + "{}\n")),
        said='data/train.jsonl, row 3: no "context"',
    ),
    Case(
        title="a list in place of SQuAD's object",
        command=TRAIN,
        damage=file("data/train.json", "[]"),
        said="data/train.json, row 1: expected a JSON object with a list \"data\", found '['",
    ),
    Case(
        title="an object without data",
        command=TRAIN,
        damage=file("data/train.json", '{"version": "1.1"}'),
        said='data/train.json, row 1: no "data" in the object',
    ),
    Case(
        title="JSON that breaks off",
        command=TRAIN,
        damage=cut("data/train.json"),
        said=f"data/train.json, row 1: not valid JSON ({ANY})",
    ),
    Case(
        title="an .xz that breaks off",
        command=TRAIN,
        damage=both(
            gone("data/train.json"),
            file(
                "data/train.json.xz", lzma.compress(json.dumps(squad(english(900))).encode())[:999]
            ),
        ),
        said="data/train.json.xz, row 1: the compressed file breaks off here (truncated); fetch or "
        "compress it again",
    ),
    Case(
        title="an empty file",
        command=TRAIN,
        damage=file("data/train.json", ""),
        said="data/train.json: is empty",
    ),
    Case(
        title="binary junk",
        command=TRAIN,
        damage=file("data/train.json", JUNK),
        said=f"data/train.json, row 1: not valid UTF-8 (byte {ANY}); save the file as UTF-8",
    ),
    Case(
        title="no questions at all",
        command=TRAIN,
        damage=file("data/train.json", '{"data": []}'),
        said="data/train.json: holds no questions",
    ),
    Case(
        title="one context, of which none can be held back",
        command=TRAIN,
        damage=only(1),
        said="data: 3 rows are too few to train on and to hold back 5% of them (data.tune_share)",
    ),
    Case(
        title="no training file",
        command=TRAIN,
        damage=gone("data/train.json"),
        said="data: no file for train, such as train.json or train.jsonl.gz; found: dev.json",
    ),
    Case(
        title="`--columns` for SQuAD's JSON",
        command=f"{TRAIN} --columns context=passage",
        said="--columns: SQuAD's JSON has fixed names",
    ),
    Case(
        title="sub-words in place of words",
        command=f"{TRAIN} --set text.unit=bpe",
        said="a reader reads words; text.unit is 'bpe'",
    ),
    Case(
        title="a score that does not exist",
        command=f"{TRAIN} --set model.score=cosine",
        said="model.score must be one of trilinear, bilinear, dot, scaled_dot, got 'cosine'",
    ),
    Case(
        title="answers of no words",
        command=f"{TRAIN} --set reading.max_words=0",
        said="reading.max_words: max_words must be a whole number of at least 1, got 0",
    ),
    Case(
        title="two passes that must differ",
        command=f"{TRAIN} --set reading.consistency=-1",
        said="reading.consistency: consistency must not be negative, got -1.0",
    ),
    Case(
        title="an agreement that is no number",
        command=f"{TRAIN} --set reading.consistency=nan",
        said="reading.consistency must be a finite number, got 'nan'",
    ),
    Case(
        title="a biLM that is not named",
        command="train reader-elmo --data data --output new",
        said="reader-elmo needs a biLM; name its bundle with --set elmo.bundle=DIR",
    ),
    Case(
        title="settings at which the run diverges",
        command=f"{TRAIN} --set optim.eps=0",
        said="the run diverged: the model's answers are no longer finite; lower optim.lr, or raise "
        "optim.eps or schedule.warmup_steps",
    ),
]

READING = [
    Case(
        title="no question and no file",
        command="read --model model",
        said="give either questions with --context, or --input FILE",
    ),
    Case(
        title="both a question and a file",
        command=f"{MANY} 'Who?'",
        said="give either questions with --context, or --input FILE",
    ),
    Case(
        title="a question without a context",
        command="read 'Who sang?' --model model",
        said="name what is read with --context: a text, or a file",
    ),
    Case(
        title="an empty question",
        command="read ' ' --context 'Ada sang.' --model model",
        said="a question is empty",
    ),
    Case(
        title="an empty context",
        command="read 'Who sang?' --context '' --model model",
        said="the context is empty",
    ),
    Case(
        title="an empty file as context",
        command="read 'Who sang?' --context empty.txt --model model",
        damage=file("empty.txt", "\n"),
        said="the context is empty",
    ),
    Case(
        title="a context file in another encoding",
        command="read 'Who sang?' --context latin.txt --model model",
        damage=file("latin.txt", b"caf\xe9"),
        said="latin.txt, row 1: not valid UTF-8 (byte 0xe9 at column 4); save the file as UTF-8",
    ),
    Case(
        title="a context file that is called .gz and is not",
        command="read 'Who sang?' --context text.gz --model model",
        damage=file("text.gz", "Ada sang."),
        said="text.gz: does not hold gzip data, although its name says so",
    ),
    Case(
        title="a context file longer than a long novel",
        command="read 'Who sang?' --context text.txt.gz --model model",
        damage=file("text.txt.gz", gzip.compress(b"Ada sang.\n" * 500_000)),
        said=f"text.txt.gz, row {ANY}: the text is longer than 4,194,304 characters",
    ),
    Case(
        title="a context file that unpacks to gigabytes",
        command="read 'Who sang?' --context text.gz --model model",
        damage=file("text.gz", gzip.compress(bytes(80_000_000), 1)),
        said=f"text.gz{ANY}: unpacks to more than 100 times its size; unpack it first if that is "
        "meant",
    ),
    Case(
        title="`--context` for a file of questions",
        command=f"{MANY} --context 'Ada sang.'",
        said="--context is for one question; give it in quotes",
    ),
    Case(
        title="`--explain` for a file of questions",
        command=f"{MANY} --explain why.html",
        said="--explain shows one question; give it in quotes",
    ),
    Case(
        title="`--explain` for two questions",
        command=f"{ONE} 'Where?' --explain why.html",
        said="--explain shows one question; give only one",
    ),
    Case(
        title="a picture of an unknown kind",
        command=f"{ONE} --explain why.bmp",
        said="why.bmp: expected a name that ends in .html, .svg, .png or .json",
    ),
    Case(
        title="`--explain` in a folder that is not there, told before the model is opened",
        command="read 'Who?' --context Ada --model none --explain none/why.html",
        said="none/why.html: cannot be written (no such folder)",
    ),
    Case(
        title="`--output` for one question",
        command=f"{ONE} --output out.jsonl",
        said="--output is for --input FILE; answers are printed",
    ),
    Case(
        title="`--on-error` with another word",
        command=f"{MANY} --on-error ignore",
        said="--on-error must be stop or skip, got 'ignore'",
    ),
    Case(
        title="an output of another kind",
        command="read --input questions.json --output out.json --model model",
        said="out.json: answers are written as .jsonl; name the output so",
    ),
    Case(
        title="an output that exists",
        command="read --input questions.json --output there.jsonl --model model",
        damage=file("there.jsonl", "a"),
        said="there.jsonl: already exists; name another --output, or remove it",
    ),
    Case(
        title="a file of questions that is not there",
        command="read --input none.json --output out.jsonl --model model",
        said="none.json: no such file",
    ),
    Case(
        title="a file of another kind",
        command="read --input data.tsv --output out.jsonl --model model",
        damage=file("data.tsv", "question\tcontext\n"),
        said="data.tsv: unknown kind of file; expected a name ending in .json or .jsonl, plain or "
        "compressed",
    ),
    Case(
        title="an empty context among many",
        command=MANY,
        damage=spoilt("questions.json", context("\t")),
        said=f"questions.json, row 1: {FIRST}: the context is empty",
    ),
    Case(
        title="an empty question among many",
        command=MANY,
        damage=spoilt("questions.json", question(question=" ")),
        said=f"questions.json, row 1: {SECOND}: the question is empty",
    ),
    Case(
        title="a context of more than a million characters",
        command=MANY,
        damage=spoilt("questions.json", context("a " * 600_000)),
        said=f"questions.json, row 1: {FIRST}: context is longer than 1,048,576 characters",
    ),
    Case(
        title="a name of a column that questions do not have",
        command=f"{MANY} --columns passage=context",
        said='--columns: no column is called "passage"; known: id, context, question, answers',
    ),
    Case(
        title="a model that does not exist",
        command="read 'Who?' --context 'Ada.' --model read-xx",
        said=f"no model called 'read-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a bundle of another kind",
        command=ONE,
        damage=changed("model/config.json", "kind", to="tagger"),
        said="model: expected a reader, found kind 'tagger'",
    ),
    Case(
        title="a task of another kind",
        command=ONE,
        damage=changed("model/config.json", "task", "name", to="write"),
        said=f"model/config.json: unknown task 'write' (known: {ANY})",
    ),
    Case(
        title="a task with a setting that does not exist",
        command=ONE,
        damage=changed("model/config.json", "task", "stride", to=3),
        said="model/config.json: task has no setting 'stride'",
    ),
    Case(
        title="a tokenizer of another model",
        command=ONE,
        damage=with_one_more_word,
        said=f"model/tokenizer.json: holds {ANY} entries, but config.json says {ANY}",
    ),
    Case(
        title="weights that break off",
        command=ONE,
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="graphs that break off",
        command=ONE,
        damage=cut("model/onnx/read.onnx"),
        said=f"model/onnx/read.onnx: cannot be run ({ANY})",
    ),
    Case(
        title="`evaluate` with an answer outside the context",
        command=EVALUATE,
        damage=spoilt("questions.json", answer(answer_start=900)),
        said=f'questions.json, row 1: {SECOND}: answer "{ANY}" at 900 lies outside the context, '
        f"which has {ANY} characters",
    ),
    Case(
        title="`evaluate` with another slice",
        command=f"{EVALUATE} --slice colour",
        said="questions.json: cannot slice by 'colour'; expected one of length, question, answer",
    ),
    Case(
        title="`evaluate` without any question",
        command=EVALUATE,
        damage=file("questions.json", '{"data": []}'),
        said="questions.json: holds no questions",
    ),
    Case(
        title="`calibrate` where every question has an answer",
        command="calibrate model --data questions.json",
        said="questions.json: the first half must hold questions with an answer and questions "
        "without; or name a score with --abstain-below",
    ),
    Case(
        title="`calibrate` on a handful",
        command="calibrate model --data few.jsonl",
        damage=file("few.jsonl", LINE * 3),
        said="few.jsonl: 3 questions are too few to calibrate on; expected at least 20",
    ),
    Case(
        title="`calibrate` on several files",
        command="calibrate model --data questions.json --data few.jsonl",
        damage=file("few.jsonl", LINE * 3),
        said="a reader is calibrated on one --data, without --by",
    ),
    Case(
        title="`export --int8` without questions",
        command=f"{EXPORT} --int8",
        said="int8 needs labelled rows for its gate; name a file with --data",
    ),
    Case(
        title="`export --drop-softmax`",
        command=f"{EXPORT} --drop-softmax",
        said="--drop-softmax is for embedders, which are pretrained with one",
    ),
]
