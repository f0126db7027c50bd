"""Bad input for `softquery fill`; `model/` is a small BERT, exported."""

from hostile_cases import ANY, Case, changed, file, gone

ONE = "fill 'the [MASK] sat' --model model"
MANY = "fill --input texts.txt --output out.jsonl --model model"

FILL = [
    Case(
        title="a text without a mask",
        command="fill 'the cat sat' --model model",
        said="the text: no mask in it; write [MASK] where a word is asked for",
    ),
    Case(
        title="a gap in place of a mask",
        command="fill 'the ___ sat' --model model",
        said='the text: no mask in it; write [MASK] instead of "___"',
    ),
    Case(
        title="the mark of another model",
        command="fill 'the <mask> sat' --model model",
        said='the text: unknown mark "<mask>"; this model\'s is [MASK]',
    ),
    Case(
        title="a mark that the model sets itself",
        command="fill 'the [MASK] [SEP]' --model model",
        said="the text: [SEP] is a mark that the model sets itself; remove it",
    ),
    Case(
        title="a text that is too long",
        command="fill 'a a a a a a a a a a a a a a [MASK]' --model model",
        said="the text: 17 pieces with the marks at both ends; the model reads at most 16",
    ),
    Case(
        title="the second of two texts has no mask",
        command="fill '[MASK]' 'the cat' --model model",
        said="the texts, row 2: no mask in it; write [MASK] where a word is asked for",
    ),
    Case(
        title="an empty text",
        command="fill ' ' --model model",
        said="a text is empty",
    ),
    Case(
        title="neither a text nor a file",
        command="fill --model model",
        said="give either texts, or --input FILE",
    ),
    Case(
        title="a candidate with letters that the model does not know",
        command=f"{ONE} --candidates cat,Ω",
        said="the candidate 'Ω' cannot be spelt with the pieces of this model",
    ),
    Case(
        title="an empty candidate",
        command=f"{ONE} --candidates cat,,",
        said="a candidate is empty",
    ),
    Case(
        title="`--top-k 0`",
        command=f"{ONE} --top-k 0",
        said=f"invalid value for '--top-k': {ANY}; see softquery fill --help",
    ),
    Case(
        title="a model of another kind",
        command="fill 'the [MASK] sat' --model nli-en",
        said=f"{ANY}nli-en: expected an encoder, found kind 'matcher'",
    ),
    Case(
        title="an encoder without its head",
        command=ONE,
        damage=changed("model/config.json", "model", "config", "heads", to="none"),
        said="model: was kept without its head for hidden words, and cannot fill masks",
    ),
    Case(
        title="an encoder that was exported before there was `fill`, on ONNX Runtime",
        command=f"{ONE} --backend onnx",
        damage=gone("model/onnx/fill.onnx"),
        said="model: was exported without a graph for masks; export it again",
    ),
    Case(
        title="a row without a mask",
        command=MANY,
        damage=file("texts.txt", "the [MASK] sat\nthe cat\n[MASK]\n"),
        said="texts.txt, row 2: no mask in it; write [MASK] where a word is asked for",
    ),
]
