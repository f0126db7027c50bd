#!/bin/sh
# The main job on the shipped models, as `make demo` shows it. Run it from the root of a clone.
set -e

show() {
    printf '\n$ %s\n' "$1"
    eval "$1"
}

show 'softquery match "Two dogs are running through a field." "Some animals are outdoors." --model nli-en'
show 'softquery match "How can I learn to play the guitar?" "What is the best way to start playing guitar?"'
show 'softquery match "花呗怎么提额" "如何提高花呗额度" --model match-zh'
show 'softquery match "花呗怎么提额" "花呗怎么还款" --model match-zh'
show 'softquery rank "I want to play the guitar. How do I begin?" --candidates examples/faq.txt --top-k 3'

mkdir -p demo-output
show 'softquery explain "Two dogs are running through a field." "Some animals are outdoors." --model nli-en --output demo-output/alignment.svg'
show 'softquery explain "花呗怎么提额" "如何提高花呗额度" --model match-zh --output demo-output/alignment-zh.html'

rm -rf demo-output/shop-en.sq demo-output/shop-zh.sq
show 'softquery index examples/shop_faq.csv --output demo-output/shop-en.sq --columns question=question_en,answer=answer_en'
show 'softquery search demo-output/shop-en.sq "How can I get a new password?" --top-k 2'
show 'softquery index examples/shop_faq.csv --output demo-output/shop-zh.sq --columns question=question_zh,answer=answer_zh'
show 'softquery search demo-output/shop-zh.sq "忘记密码了怎么办" --top-k 2'
show 'softquery classify "A quiet film that grows on you." --explain demo-output/opinion.svg'
show 'softquery tag "Ada Lovelace lived in London."'
show 'softquery read "Who wrote it?" --context "The letter was written by Anna Schmidt, a teacher from Leipzig."'
show 'softquery generate "Wenn es morgen regnet, bleiben wir zu Hause."'
show 'softquery generate "一帆风顺年年好" --model couplet-zh --n-best 3 --rules all'
show 'softquery models'

printf '\ntorch in this installation: '
python -c 'from importlib.util import find_spec; print("yes" if find_spec("torch") else "no")'
echo "the alignments: $(pwd)/demo-output/alignment.svg and $(pwd)/demo-output/alignment-zh.html"
