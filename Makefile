PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Also there, and longer: planning, simulation, flow_overload.
BENCHMARKS := compare latency growth floor costs submit local planning_pure flow

.DEFAULT_GOAL := help
.PHONY: help demo test chaos soak lint bench up docs clean

help: ## Show this help
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing marie_celery and its development tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## Run the example pipelines on a cluster of their own
	@$(BIN)/python -m workers.demo

test: lint ## All checks and tests
	@$(BIN)/python -m pytest --numprocesses 2 tests/stateful tests/unit tests/redis
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --durations 10 tests/conformance workers/tests tests/system
	@$(BIN)/python -m pytest tests/chaos

chaos: $(STAMP) ## Ten minutes of kills, stops, restarts and resets while DAGs flow
	@$(BIN)/python -m tests.chaos.run --minutes 10 --jobs 50000

soak: $(STAMP) ## Twenty times the stateful steps of `make test`
	@MARIE_SOAK_STEPS=2000000 $(BIN)/python -m pytest --timeout=0 tests/stateful

lint: $(STAMP) ## ruff, mypy, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

up: $(STAMP) ## Leave the example cluster running until Ctrl-C
	@$(BIN)/marie -A workers up

bench: $(STAMP) ## Benchmarks, about a quarter of an hour (ratios within one run)
	@failed=0; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name || failed=1; done; exit $$failed

docs: $(STAMP) ## Check the documentation: links, headings, keys, states
	@$(BIN)/python -m pytest -q tests/unit/test_docs.py tests/unit/test_links.py

clean: ## Remove the environment and caches
	@rm -rf $(VENV) benchmarks/.peers .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
