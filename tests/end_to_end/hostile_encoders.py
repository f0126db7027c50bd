"""Bad input for `softquery import sentence-transformers` and `softquery import static`."""

import json
import shutil
from pathlib import Path

from hostile_cases import ANY, Case, Damage, both, changed, cut, file, gone

TO = "import sentence-transformers sentences --output model"
MODULES, POOLING = "sentences/modules.json", "sentences/1_Pooling/config.json"
WEIGHTS, CONFIG = "sentences/model.safetensors", "sentences/config.json"
TABLE = "import static static --output model"
TENSORS = "static/model.safetensors"
TYPE = "sentence_transformers.models."
NAMES = ("Transformer", "Pooling", "Normalize")
PIECES = ["[PAD]", "[UNK]", "a", "b", "##c"]


def write_encoder_folders(folder: Path) -> None:
    """`sentences`, around the BERT of `bert`, and `static`; both are sound."""
    import numpy
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    sentences = shutil.copytree(folder / "bert", folder / "sentences")
    entries = [
        {"type": TYPE + name, "path": f"{place}_{name}" if place else ""}
        for place, name in enumerate(NAMES)
    ]
    (sentences / "modules.json").write_text(json.dumps(entries))
    (sentences / "1_Pooling").mkdir()
    pools = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True}
    (sentences / "1_Pooling" / "config.json").write_text(json.dumps(pools))
    (sentences / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    static = folder / "static"
    static.mkdir()
    ids = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(static / "tokenizer.json"))
    (static / "config.json").write_text('{"normalize": true}')
    save_file({"embeddings": numpy.ones((5, 3), numpy.float32)}, static / "model.safetensors")


def renamed(name: str, other: str) -> Damage:
    """Move a file."""
    return lambda place: (place / name).rename(place / other)


def tensors(name: str, change: str) -> Damage:
    """Give a tensor of a file another content, or take it away."""

    def damage(place: Path) -> None:
        import numpy
        from safetensors.numpy import load_file, save_file

        path = place / (TENSORS if (place / TENSORS).exists() else WEIGHTS)
        arrays = load_file(path)
        shape = arrays.pop(name).shape
        if change == "not finite":
            arrays[name] = numpy.full(shape, numpy.inf, numpy.float32)
        elif change == "narrow":
            arrays[name] = numpy.ones(shape[:-1], numpy.float32)
        elif change == "short":
            arrays[name] = numpy.ones((2, *shape[1:]), numpy.float32)
        save_file(arrays, path)

    return damage


def modules(*names: str) -> Damage:
    """Other modules, by their types."""
    entries = [{"type": name if "." in name else TYPE + name, "path": ""} for name in names]
    return file(MODULES, json.dumps(entries))


WORDS = "bert.embeddings.word_embeddings.weight"
KNOWN = "expected Transformer, Pooling, Dense and Normalize, in this order"

IMPORT_SENTENCES = [
    Case(
        title="a folder that is not there",
        command="import sentence-transformers none --output model",
        said="none: no such folder",
    ),
    Case(
        title="a file in place of a folder",
        command=f"import sentence-transformers {CONFIG} --output model",
        said=f"{CONFIG}: is a file",
    ),
    Case(
        title="a bare BERT",
        command=TO,
        damage=gone(MODULES),
        said="sentences: has no modules.json, and is no cross-encoder; for a bare BERT, use "
        "softquery import bert",
    ),
    Case(
        title="a pooling file that is missing",
        command=TO,
        damage=gone(POOLING),
        said=f"{POOLING}: no such file",
    ),
    Case(
        title="pooling of another width",
        command=TO,
        damage=changed(POOLING, "word_embedding_dimension", to=384),
        said=f"{MODULES}: pools states of width 384, but those of the encoder have 8",
    ),
    Case(
        title="a pool that is not supported",
        command=TO,
        damage=changed(POOLING, "pooling_mode_lasttoken", to=True),
        said=f"{POOLING}: the pool 'lasttoken' is not supported (supported: cls, max, mean, "
        "mean_sqrt_len_tokens)",
    ),
    Case(
        title="a module that is not supported",
        command=TO,
        damage=modules("Transformer", "Pooling", "LayerNorm"),
        said=f"{MODULES}: module 3 is 'sentence_transformers.models.LayerNorm'; {KNOWN}",
    ),
    Case(
        title="a module with code of its own",
        command=TO,
        damage=modules("custom_st.Transformer", "Pooling"),
        said=f"{MODULES}: module 1 is 'custom_st.Transformer'; {KNOWN}",
    ),
    Case(
        title="no pooling at all",
        command=TO,
        damage=modules("Transformer"),
        said=f"{MODULES}: there is no Pooling; {KNOWN}",
    ),
    Case(
        title="a static table",
        command=TO,
        damage=modules("StaticEmbedding"),
        said=f"{MODULES}: holds a static table; use softquery import static",
    ),
    Case(
        title="a list of modules that breaks off",
        command=TO,
        damage=cut(MODULES),
        said=f"{MODULES}, row 1: broken JSON: {ANY}",
    ),
    Case(
        title="an encoder that is not supported",
        command=TO,
        damage=changed(CONFIG, "model_type", to="roberta"),
        said=f"{CONFIG}: model_type must be one of bert, mpnet, got 'roberta'",
    ),
    Case(
        title="weights that are not finite",
        command=TO,
        damage=tensors(WORDS, "not finite"),
        said=f"{WEIGHTS}: the tensor embeddings.word_embeddings.weight holds values that are not "
        "finite numbers",
    ),
    Case(
        title="weights of another shape",
        command=TO,
        damage=tensors(WORDS, "short"),
        said=f"{WEIGHTS}: the tensor embeddings.word_embeddings.weight has the shape (2, 8), but "
        "by config.json it should be (21, 8)",
    ),
    Case(
        title="weights in pickle form only",
        command=TO,
        damage=renamed(WEIGHTS, "sentences/pytorch_model.bin"),
        said="sentences/pytorch_model.bin: weights in pickle form can run code and are never "
        "loaded; expected model.safetensors",
    ),
    Case(
        title="no vocabulary",
        command=TO,
        damage=both(gone("sentences/tokenizer.json"), gone("sentences/vocab.txt")),
        said="sentences: holds neither tokenizer.json nor vocab.txt",
    ),
    Case(
        title="a prompt before every text",
        command=TO,
        damage=file(
            "sentences/config_sentence_transformers.json",
            '{"prompts": {"query": "query: "}, "default_prompt_name": "query"}',
        ),
        said="sentences/config_sentence_transformers.json: default_prompt_name 'query' puts "
        "'query: ' before every text, which is not supported",
    ),
    Case(
        title="a cross-encoder without its head",
        command=TO,
        damage=both(
            gone(MODULES),
            changed(CONFIG, "architectures", to=["BertForSequenceClassification"]),
        ),
        said=f"{WEIGHTS}: the tensor classifier.weight is missing",
    ),
    Case(
        title="an output that exists",
        command=TO,
        damage=file("model/notes.txt", "mine"),
        said="model: already exists; name another --output",
        left="`model` as it was",
    ),
    Case(
        title="an output on a full disk",
        command="import sentence-transformers sentences --output full/model",
        needs=frozenset({"disk"}),
        said="full/model: cannot be written (no space left on the disk)",
    ),
]

IMPORT_STATIC = [
    Case(
        title="a folder that is not there",
        command="import static none --output model",
        said="none: no such folder",
    ),
    Case(
        title="no table",
        command=TABLE,
        damage=gone(TENSORS),
        said=f"{TENSORS}: no such file",
    ),
    Case(
        title="a table that breaks off",
        command=TABLE,
        damage=cut(TENSORS),
        said=f"{TENSORS}: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="a table with fewer rows than the vocabulary",
        command=TABLE,
        damage=tensors("embeddings", "short"),
        said=f"{TENSORS}: the tensor embeddings has 2 rows, but tokenizer.json has 5 entries",
    ),
    Case(
        title="a list in place of a table",
        command=TABLE,
        damage=tensors("embeddings", "narrow"),
        said=f"{TENSORS}: the tensor embeddings is no table: its shape is (5,)",
    ),
    Case(
        title="a table that is not finite",
        command=TABLE,
        damage=tensors("embeddings", "not finite"),
        said=f"{TENSORS}: the tensor embeddings holds values that are not finite numbers",
    ),
    Case(
        title="a tokenizer that is not supported",
        command=TABLE,
        damage=file("static/tokenizer.json", '{"model": {"type": "Unigram"}}'),
        said="static/tokenizer.json: expected a WordPiece, found 'Unigram'",
    ),
    Case(
        title="no config",
        command=TABLE,
        damage=gone("static/config.json"),
        said="static/config.json: no such file",
    ),
    Case(
        title="an output that exists",
        command=TABLE,
        damage=file("model/notes.txt", "mine"),
        said="model: already exists; name another --output",
        left="`model` as it was",
    ),
]
