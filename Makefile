# The habits of the house. `make` alone lists them.

CARGO ?= cargo
PYTHON ?= python3
NEXTEST = $(CARGO) nextest run --workspace --all-features

.PHONY: help fmt check test python chaos sim bench deny docs

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

fmt: ## format
	$(CARGO) fmt --all

check: ## formatting, clippy and documentation, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --all-features

test: python ## all tests but the long ones
	$(NEXTEST)
	$(CARGO) test --workspace --all-features --doc

python: ## tests of the Python SDK
	PYTHONPATH=sdk/python $(PYTHON) -m unittest discover -s tests/python

chaos: ## kill, stop and starve real processes (tests/chaos*.rs)
	$(NEXTEST) --profile long --run-ignored all --test 'chaos*'

sim: ## the executor under simulated time and seeded faults (actors/tests/sim*.rs)
	$(CARGO) nextest run --package windlass-actors --all-features --profile long --run-ignored all --test 'sim*'

bench: ## measure; see docs/performance.md
	$(CARGO) bench --workspace

deny: ## licences, bans and sources of the dependencies (cargo install cargo-deny@0.18 --locked)
	$(CARGO) deny --all-features check bans licenses sources

docs: ## write docs/configuration.md again from the table of keys
	UPDATE_DOCS=1 $(CARGO) test --lib configuration_page
