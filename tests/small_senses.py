"""Small text with senses and with tags, in the forms of SemCor, of sense tasks and of CoNLL-U."""

from pathlib import Path

import numpy as np

MONEY, RIVER = "1:14:00::", "1:17:01::"
SAY = "2:32:00::"
ENDINGS = {MONEY: ("lent", "money"), RIVER: ("by", "rivers")}


def bank(sense: str, number: int) -> str:
    """A sentence of SemCor in which a bank is one thing or the other."""
    deed, thing = ENDINGS[sense]
    return f"""<s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done pos=NN lemma=bank wnsn={number} lexsn={sense}>bank</wf>
<wf cmd=ignore pos=VB>{deed}</wf>
<wf cmd=done rdf=group pos=NNP lemma=group wnsn=1 lexsn=1:03:00:: pn=group>{thing}</wf>
<punc>.</punc>
</s>
"""


SAID = f"""<s snum=2>
<wf cmd=done pos=VB lemma=say wnsn=1 lexsn={SAY}>said</wf>
<punc>``</punc>
<wf cmd=done pos=VB lemma=take_place wnsn=1 lexsn=2:30:00::>took_place</wf>
<wf cmd=done pos=JJ lemma=odd wnsn=0 lexsn=5:00:00:old:00>odd</wf>
</s>
"""


def document(*sentences: str) -> str:
    body = "".join(sentences)
    head = "<contextfile concordance=brown>\n<context filename=br-x01 paras=yes>\n<p pnum=1>\n"
    return f"{head}{body}</p>\n</context>\n</contextfile>\n"


TASK = """<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en" source="small"><text id="d000"><sentence id="d000.s000">
<wf lemma="the" pos="DET">A</wf>
<instance id="d000.s000.t000" lemma="bank" pos="NOUN">bank</instance>
<wf lemma="by" pos="ADP">by</wf><wf lemma="river" pos="NOUN">rivers</wf>
<instance id="d000.s000.t001" lemma="take_place" pos="VERB">took place</instance>
<instance id="d000.s000.t002" lemma="sing" pos="VERB">sang</instance>
</sentence></text></corpus>
"""
KEYS = f"""d000.s000.t000 bank%{RIVER}
d000.s000.t001 take_place%2:30:00:: take_place%2:30:01::
d000.s000.t002 sing%2:36:00::
"""


def write_senses(folder: Path, *, num_documents: int = 10) -> Path:
    """SemCor in as many documents, money three times as common as rivers, and a task beside it."""
    texts = folder / "semcor" / "brown1" / "tagfiles"
    texts.mkdir(parents=True)
    for number in range(num_documents):
        banks = [bank(MONEY, 1)] * 3 + [bank(RIVER, 2)]
        (texts / f"br-x{number:02}").write_text(document(*banks, SAID), encoding="utf-8")
    (folder / "small").mkdir()
    (folder / "small" / "small.data.xml").write_text(TASK, encoding="utf-8")
    (folder / "small" / "small.gold.key.txt").write_text(KEYS, encoding="utf-8")
    return folder


def conllu(*sentences: str) -> str:
    """Sentences such as `the/DET cat/NOUN`."""
    blocks = []
    for sentence in sentences:
        pairs = [word.rsplit("/", 1) for word in sentence.split()]
        rows = [
            f"{row}\t{form}\t_\t{tag}\t_\t_\t_\t_\t_\t_" for row, (form, tag) in enumerate(pairs, 1)
        ]
        blocks.append("\n".join(["# text", *rows]) + "\n")
    return "\n".join(blocks)


def write_tags(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    train = ["the/DET can/NOUN sat/VERB", "the/DET cat/NOUN can/AUX sit/VERB"] * 20
    train += ["they/PRON can/AUX sit/VERB"] * 10
    dev = ["the/DET can/NOUN sat/VERB", "they/PRON can/AUX sit/VERB"] * 3
    (folder / "train.conllu").write_text(conllu(*train), encoding="utf-8")
    (folder / "dev.conllu").write_text(conllu(*dev), encoding="utf-8")
    return folder


class Neighbours:
    """Two layers: the word alone, and with the words beside it. Each word has a random vector."""

    size = 24

    def __init__(self):
        self.vectors = {}
        self.rng = np.random.default_rng(5)

    def __call__(self, sentences):
        return [self.read(sentence) for sentence in sentences]

    def read(self, sentence):
        alone = np.stack([self.vector(word) for word in sentence])
        padded = np.pad(alone, ((1, 1), (0, 0)))
        return np.stack([alone, alone + padded[:-2] + 2 * padded[2:]])

    def vector(self, word):
        if word not in self.vectors:
            self.vectors[word] = self.rng.normal(size=self.size).astype(np.float32)
        return self.vectors[word]
