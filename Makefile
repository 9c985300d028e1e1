# `make demo` shows it, `make test` checks it. Both need only a Rust toolchain and a C compiler (for zstd).

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
DURAMEN := $(TARGET_DIR)/release/duramen

.PHONY: help build test lint unit doc demo bench bench-engine clean-demo

help:
	@echo 'make build   the release binary, $(DURAMEN)'
	@echo 'make demo    load this machine'\''s logs, and generated ones, and search them'
	@echo 'make test    everything that must pass: lint, tests, documentation'
	@echo 'make lint    format and lints alone'
	@echo 'make bench   measure ingest, size and queries; writes bench/results/logs.md'
	@echo 'make bench-engine   the key-value engine beside its peers; compiles RocksDB first; writes bench/results/engine'

build:
	$(CARGO) build --release --locked -p duramen-cli

test: lint unit doc

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Unit, documentation and end-to-end tests: the last run the real command, and kill it.
unit:
	$(CARGO) test --workspace --locked

doc:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked

demo: build
	sh scripts/demo.sh $(DURAMEN)

# BENCH_FLAGS='--only zeek --skip-zstd-19' measures less.
bench: build
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-logs -- \
		--duramen $(abspath $(DURAMEN)) $(BENCH_FLAGS)
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-append

# BENCH_FLAGS='--quick' takes some minutes, and writes to bench/data. RocksDB takes 20 minutes to compile, and wants
# libclang; BENCH_CARGO_FLAGS=--no-default-features leaves it out.
bench-engine:
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-engine $(BENCH_CARGO_FLAGS) -- \
		all $(BENCH_FLAGS)

clean-demo:
	sh scripts/demo.sh --clean
