# Everything here sets itself up: Python (3.10 or newer) and make are all that must be there.
# Another interpreter: make test PYTHON=python3.12. More processes: make test WORKERS=8.
# Some integrations: make integrations ONLY="langchain spacy"; with the newest versions: FRESH=1.

PYTHON ?= python3
WORKERS ?= 2

EXTRAS := train,search,serve,zh,parquet,plot,hdf5,hub,sklearn,dev,docs
VENV := .venv
DEMO := .venv-demo
BIN := $(VENV)/bin
PIP_OPTIONS := --quiet --disable-pip-version-check
# Its plugin takes seconds to import, and the tests that use it run its command.
PYTEST := $(BIN)/python -m pytest -p no:schemathesis

# A virtual environment is made anew when it is asked for with another interpreter.
VERSION := $(shell $(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null)
# Folders are listed too: theirs is the only date that changes when a file goes.
SOURCES := $(shell find src -name __pycache__ -prune -o -print)
WHEEL_FILES := $(SOURCES) pyproject.toml README.md LICENSE NOTICE
MODELS := packages/softquery-models
MODEL_FILES := $(shell find $(MODELS) -name __pycache__ -prune -o -print)

# Other people's frameworks, which `make integrations` installs, each beside its own file.
FOREIGN := $(foreach each,langchain llamaindex haystack spacy mcp,--ignore-glob="*/integrations/$(each).py")

# One thread a process: the processes share the cores already, and results depend on the number.
export OMP_NUM_THREADS := 1
# Every process of a test would compile anew what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test endurance integrations check bench docs clean python

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(DEMO)/.installed ## install without torch, then show the main jobs on sample files
	@PATH="$(CURDIR)/$(DEMO)/bin:$$PATH" softquery demo --output demo-output

# The doctests run beside the tests. The fused step is left out: it needs Triton, which comes with
# torch for a GPU alone. The files of tests that take longest come first (tests/conftest.py).
test: $(VENV)/.installed $(VENV)/.models ## run the doctests and the tests against the built wheels
	@status=0; \
	$(PYTEST) --doctest-modules --ignore-glob="*/fused_step.py" $(FOREIGN) --pyargs softquery \
		> $(VENV)/doctests.log 2>&1 & doctests=$$!; \
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder || status=1; \
	wait $$doctests || status=1; \
	echo doctests:; cat $(VENV)/doctests.log; \
	exit $$status

endurance: $(VENV)/.installed $(VENV)/.models ## run the long trials: kills, threads, mutated requests
	$(PYTEST) -n $(WORKERS) --dist worksteal -m endurance

integrations: | python ## try each integration with the real package, each in an environment of its own
	@$(PYTHON) tests/integrations $(if $(FRESH),--fresh) $(ONLY)

check: $(VENV)/.installed ## lint, format, types, layers: what a change must pass
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: | python ## list the benchmarks and how each is run
	@$(PYTHON) benchmarks

docs: $(VENV)/.installed ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean: ## remove the virtual environments and what was built
	rm -rf $(VENV) $(DEMO) .venv-integrations build dist site

python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("softquery needs Python 3.10 or newer, $(PYTHON) is " + sys.version.split()[0])'

$(VENV)/.python-$(VERSION): | python
	@echo 'making $(VENV) with Python $(VERSION)'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The dependencies take minutes and change rarely; the package takes seconds and changes often.
$(VENV)/.dependencies: $(VENV)/.python-$(VERSION) pyproject.toml constraints.txt
	@echo 'installing what training and testing need (some minutes the first time)'
	@$(BIN)/pip install $(PIP_OPTIONS) -c constraints.txt hatchling
	@rm -rf $(VENV)/wheel
	@$(BIN)/pip wheel $(PIP_OPTIONS) --no-deps --no-build-isolation --wheel-dir $(VENV)/wheel .
	@$(BIN)/pip install $(PIP_OPTIONS) -c constraints.txt "$$(echo $(VENV)/wheel/*.whl)[$(EXTRAS)]"
	@touch $@

$(VENV)/.installed: $(VENV)/.dependencies $(WHEEL_FILES)
	@rm -rf $(VENV)/wheel
	@$(BIN)/pip wheel $(PIP_OPTIONS) --no-deps --no-build-isolation --wheel-dir $(VENV)/wheel .
	@$(BIN)/pip install $(PIP_OPTIONS) --no-deps --force-reinstall $(VENV)/wheel/*.whl
	@touch $@

# The models are a package of their own, which changes far more rarely.
$(VENV)/.models: $(VENV)/.dependencies $(MODEL_FILES) | $(VENV)/.installed
	@rm -rf $(VENV)/wheel-models
	@$(BIN)/pip wheel $(PIP_OPTIONS) --no-deps --no-build-isolation --wheel-dir $(VENV)/wheel-models ./$(MODELS)
	@$(BIN)/pip install $(PIP_OPTIONS) --no-deps --force-reinstall $(VENV)/wheel-models/*.whl
	@touch $@

$(DEMO)/.python-$(VERSION): | python
	@echo 'making $(DEMO) with Python $(VERSION)'
	@$(PYTHON) -m venv --clear $(DEMO)
	@touch $@

$(DEMO)/.installed: $(DEMO)/.python-$(VERSION) constraints.txt $(WHEEL_FILES) $(MODEL_FILES)
	@echo 'installing the base, search and the models, without torch'
	@$(DEMO)/bin/pip install $(PIP_OPTIONS) -c constraints.txt '.[search]' ./$(MODELS)
	@touch $@
