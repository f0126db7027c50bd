# Teach encoders and matchers side by side on one GPU, by a given time. What lies there already is not made again.
#
#   make -f shipped/teach.mk -j 5 GIVEN=given MADE=made END=$(($(date +%s) + 800)) PYTHONPATH=src:shipped
#   make -f shipped/teach.mk match-en GIVEN=given MADE=made END=... PYTHONPATH=src:shipped
#
# GIVEN holds what needs no GPU (shipped/README.md says how it is made): texts_en, asked_en, people_en and texts_zh (.txt.xz),
# judged_en and judged_zh (.json.xz), hard_nli, hard_match, hard_zh and pawsx (.jsonl), nli-en/, match-en-free/ and
# match-zh/ (as gather.py writes them), glove-50d.bin and glove-100d.bin, runs_en.json and runs_zh.json (lists for
# students.learn), minilm-8bit, mpnet-8bit, simbert (8 bits), ernie, simbert-tf (as published) and use (its resources).
# MADE gets a folder or file a step, and beside each a log. The matchers stop MARGIN seconds before END.

GIVEN ?= given
MADE ?= made
END ?= $(shell echo $$(($$(date +%s) + 800)))
MARGIN ?= 60
PROCESSES ?= 4
SHIPPED := $(dir $(lastword $(MAKEFILE_LIST)))
PYTHON ?= python
export PYTHONUNBUFFERED := 1
export OMP_NUM_THREADS := 2

# How many texts and pairs; a trial on a CPU takes a few hundred.
VARIED ?= 500000
NLI_PAIRS ?= 1000000
MATCH_PAIRS ?= 1100000
ZH_TEXTS ?= 500000
ZH_PAIRS ?= 700000
HELD_BACK ?= 8000
WRITING ?= 30
PIECES ?= 24000

LEFT = $$(( $(END) - $$(date +%s) - $(MARGIN) ))
RUN = @mkdir -p $(@D); echo "$$(date +%T) $@"; exec > $@.log 2>&1; set -ex;
BATCH := --set data.batch_size=512 --processes $(PROCESSES)
GLOVE := --vectors $(GIVEN)/glove-50d.bin --vectors $(GIVEN)/glove-100d.bin
EN := $(MADE)/en
ZH := $(MADE)/zh

.PHONY: all embed-en embed-zh nli-en match-en match-zh
.DELETE_ON_ERROR:

all: match-zh embed-zh nli-en match-en embed-en
embed-en: $(MADE)/results_en.jsonl
embed-zh: $(MADE)/results_zh.jsonl
nli-en: $(MADE)/nli-student.done
match-en: $(MADE)/match-student.done
match-zh: $(MADE)/zh-student.done

# English sentence encoders.
$(EN)/lessons.json:
	$(RUN) $(PYTHON) -m students.english --texts $(GIVEN)/texts_en.txt.xz --asked $(GIVEN)/asked_en.txt.xz \
		--judged $(GIVEN)/judged_en.json.xz --tokenizer $(GIVEN)/minilm-8bit/tokenizer.json --output $(EN) --processes $(PROCESSES)

$(EN)/varied: $(EN)/lessons.json
	$(RUN) $(PYTHON) -m students.varied --lessons $(EN) --teacher $(GIVEN)/minilm-8bit --count $(VARIED); touch $@

$(EN)/minilm.npy $(EN)/mpnet.npy: $(EN)/%.npy: $(EN)/varied
	$(RUN) $(PYTHON) -m students.teach vectors $(GIVEN)/$*-8bit --lessons $(EN) --output $@

$(EN)/both.npy: $(EN)/minilm.npy $(EN)/mpnet.npy
	$(RUN) $(PYTHON) -m students.teach join --lessons $(EN) --output $@ 0.5=$(EN)/minilm.npy 0.5=$(EN)/mpnet.npy

$(MADE)/results_en.jsonl: $(EN)/both.npy
	$(RUN) $(PYTHON) -m students.learn --lessons $(EN) --runs $(GIVEN)/runs_en.json --results $@

# Chinese sentence encoders.
$(MADE)/written.tsv.xz:
	$(RUN) $(PYTHON) -m students.chinese write --texts $(GIVEN)/texts_zh.txt.xz --judged $(GIVEN)/judged_zh.json.xz \
		--simbert $(GIVEN)/simbert-tf --output $@ --seconds $(WRITING)

$(MADE)/pieces.json: $(MADE)/written.tsv.xz
	$(RUN) $(PYTHON) -m students.chinese pieces --texts $(GIVEN)/texts_zh.txt.xz --made $< --output $@ --size $(PIECES)

$(ZH)/lessons.json: $(MADE)/pieces.json
	$(RUN) $(PYTHON) -m students.chinese lessons --texts $(GIVEN)/texts_zh.txt.xz --made $(MADE)/written.tsv.xz \
		--judged $(GIVEN)/judged_zh.json.xz --simbert $(GIVEN)/simbert-tf --pieces $< --output $(ZH) --processes $(PROCESSES)

$(ZH)/both.npy: $(ZH)/lessons.json
	$(RUN) $(PYTHON) -m students.chinese vectors --lessons $(ZH) --simbert $(GIVEN)/simbert-tf --use $(GIVEN)/use; \
	$(PYTHON) -m students.teach join --lessons $(ZH) --output $@ --size 256 0.4=$(ZH)/simbert.npy 0.6=$(ZH)/use.npy

$(MADE)/results_zh.jsonl: $(ZH)/both.npy
	$(RUN) $(PYTHON) -m students.learn --lessons $(ZH) --runs $(GIVEN)/runs_zh.json --results $@

# English matchers.
$(MADE)/nli/logits.npy:
	$(RUN) $(PYTHON) -m pair_teachers nli --packed $(GIVEN)/mpnet-8bit --gold $(GIVEN)/nli-en/train.jsonl \
		--hard $(GIVEN)/hard_nli.jsonl --dev $(GIVEN)/nli-en/dev.jsonl --output $(@D) --count $(NLI_PAIRS)

$(MADE)/match/logits.npy:
	$(RUN) $(PYTHON) -m pair_teachers match --packed $(GIVEN)/mpnet-8bit --beside $(GIVEN)/minilm-8bit \
		--gold $(GIVEN)/nli-en/train.jsonl --hard $(GIVEN)/hard_match.jsonl --texts $(GIVEN)/people_en.txt.xz \
		--output $(@D) --count $(MATCH_PAIRS)

$(MADE)/nli-student.done: $(MADE)/nli/logits.npy
	$(RUN) $(PYTHON) $(SHIPPED)taught_matcher.py nli-en-thin --pairs $(<D) --data $(GIVEN)/nli-en --output $(@:.done=) \
		--seconds $(LEFT) $(GLOVE) $(BATCH) $(SMALL); touch $@

$(MADE)/match-student.done: $(MADE)/match/logits.npy
	$(RUN) $(PYTHON) $(SHIPPED)taught_matcher.py match-en-thin --pairs $(<D) --data $(GIVEN)/match-en-free --output $(@:.done=) \
		--held-back $(HELD_BACK) --seconds $(LEFT) $(GLOVE) $(BATCH) $(SMALL); touch $@

# The free Chinese matcher, of a part of the texts.
$(MADE)/characters.bin:
	$(RUN) $(PYTHON) $(SHIPPED)matcher_teachers.py table $(GIVEN)/ernie --output $@

$(MADE)/free/pairs.npz:
	$(RUN) xz -dc $(GIVEN)/texts_zh.txt.xz > $(MADE)/all_zh.txt; \
	yes | shuf -n $(ZH_TEXTS) --random-source=/dev/stdin $(MADE)/all_zh.txt > $(MADE)/some_zh.txt; \
	$(PYTHON) $(SHIPPED)chinese_pairs.py free --texts $(MADE)/some_zh.txt --hard $(GIVEN)/hard_zh.jsonl \
		--gold $(GIVEN)/pawsx.jsonl --simbert $(GIVEN)/simbert --use $(GIVEN)/use --output $(@D) --count $(ZH_PAIRS) --processes $(PROCESSES)

$(MADE)/free/simbert.npy $(MADE)/free/ernie.npy: $(MADE)/free/%.npy: $(MADE)/free/pairs.npz
	$(RUN) $(PYTHON) $(SHIPPED)matcher_teachers.py teach $(GIVEN)/$* --pairs $(@D) --dev $(GIVEN)/match-zh/dev.jsonl \
		--name $* --epochs 2 --batch 512 --processes $(PROCESSES)

$(MADE)/taught-zh/pairs.npz: $(MADE)/free/simbert.npy $(MADE)/free/ernie.npy
	$(RUN) cp $(GIVEN)/match-zh/dev.jsonl $(@D); $(PYTHON) $(SHIPPED)matcher_teachers.py join $^ --pairs $(MADE)/free \
		--output $(@D) --held-back $(HELD_BACK) --tune $(@D)/tune.jsonl

$(MADE)/zh-student.done: $(MADE)/taught-zh/pairs.npz $(MADE)/characters.bin
	$(RUN) $(PYTHON) $(SHIPPED)taught_matcher.py match-zh-thin --pairs $(<D) --data $(<D) --output $(@:.done=) \
		--seconds $(LEFT) --vectors $(MADE)/characters.bin $(BATCH) $(SMALL); touch $@
