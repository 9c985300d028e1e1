# `make demo` shows it, `make test` checks it. They need a Rust toolchain and a C compiler (for zstd), and `make test`
# a C++ compiler besides (for libFuzzer), Python 3.10 or newer with PyPI within reach (for the Python package), and
# PostgreSQL (which it installs where it can; DURAMEN_SKIP_POSTGRES=1 leaves its tests out), and log shippers from PyPI and
# npm, for which it needs Node (DURAMEN_SKIP_CLIENTS=1 leaves their tests out); with Go it also builds a Collector of
# OpenTelemetry, once.

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
RELEASED := $(TARGET_DIR)/release/duramen

.PHONY: help build size test lint unit doc fuzz test-python test-api test-logcli kill soak tsan miri msrv demo bench bench-engine bench-logger bench-http clean-demo

help:
	@echo 'make build   the release binary, $(RELEASED)'
	@echo 'make size    the same, and that it is as small as promised: under 20 MiB'
	@echo 'make demo    load this machine'\''s logs, and generated ones, and search them'
	@echo 'make test    everything that must pass: lint, tests, documentation, fuzzing, Python, five minutes of soak'
	@echo 'make lint    format and lints alone'
	@echo 'make test-python   the Python package: its wheel, in a virtual environment, and its tests; needs python3 and PyPI'
	@echo 'make test-api  the server: requests made of its OpenAPI document; needs python3 and PyPI'
	@echo 'make test-logcli  logcli against the server; builds it first, with Go, which takes 11 minutes of one core'
	@echo 'make fuzz    each decoder against bytes that look for its gaps; FUZZ_SECONDS=60 looks for new ones'
	@echo 'make kill    eight writers of 200,000 lines each, killed 200 times while they log; a minute'
	@echo 'make soak    mixed load on a server that is killed every minute; two hours'
	@echo 'make tsan    races, under the thread sanitizer; needs a nightly toolchain'
	@echo 'make miri    undefined behaviour of unsafe code, under Miri; needs a nightly toolchain'
	@echo 'make msrv    the oldest Rust that is promised compiles it; needs rustup'
	@echo 'make bench   measure ingest, size, queries and appending; writes bench/results/logs.md and append.md'
	@echo 'make bench-engine   the key-value engine beside its peers; compiles RocksDB first; writes bench/results/engine'
	@echo 'make bench-logger   the direct logger beside SQLite, PostgreSQL, files and the device; writes bench/results/logger*.md'
	@echo 'make bench-http   the server over HTTP beside one that does nothing, and VictoriaLogs; writes bench/results/http.md'

build:
	$(CARGO) build --release --locked -p duramen-cli

size: build
	@sh scripts/size.sh $(RELEASED)

# Five minutes of soak run beside what comes after the tests; a failure of either fails it all.
# MAKE_COMMAND, and not MAKE, so that `make -n test` runs nothing.
test: lint unit
	@sh scripts/beside-soak.sh $(MAKE_COMMAND) --no-print-directory doc fuzz test-python test-api

lint:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --all --check --manifest-path fuzz/Cargo.toml
	$(CARGO) fmt --all --check --manifest-path bindings/python/Cargo.toml
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Unit, documentation and end-to-end tests: the last run the real command, and kill it.
unit:
	@sh scripts/setup-tests.sh
	$(CARGO) test --workspace --locked
	$(CARGO) test --workspace --locked --features duramen-cli/parquet --test parquet

doc:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked

# FUZZ_SECONDS=600 looks for new inputs, that long each; scripts/fuzz.sh says what else there is.
fuzz:
	@sh scripts/fuzz.sh

# It lints the native half, too. PYTEST_FLAGS='-k fork' runs some of the tests.
test-python:
	@sh scripts/test-python.sh $(PYTEST_FLAGS)

# EXAMPLES=1000 makes more requests. Half a minute.
test-api:
	@sh scripts/test-api.sh

# Not part of `make test`, for what it takes to build logcli.
test-logcli:
	@sh scripts/test-logcli.sh

# The long form of a test that `make test` has in a short one. KILL_LINES=1000000 makes it longer.
KILL_LINES ?= 200000
kill:
	DURAMEN_KILL_LINES=$(KILL_LINES) $(CARGO) test --locked -p duramen --test logger writers:: -- --nocapture

# What `make test` has for five minutes, with little load, for longer. SOAK_LINES_PER_S should be some 80 % of what the machine takes.
SOAK_SECONDS ?= 7200
SOAK_LINES_PER_S ?= 2000
soak:
	DURAMEN_SOAK_SECONDS=$(SOAK_SECONDS) DURAMEN_SOAK_LINES_PER_S=$(SOAK_LINES_PER_S) \
		$(CARGO) test --release --locked -p duramen-cli --test serve soak:: -- --nocapture

tsan:
	@sh scripts/races.sh tsan

miri:
	@sh scripts/races.sh miri

# What compiles with a new Rust may not with the oldest that is promised, which the container is built with.
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	rustup toolchain install $(RUST_VERSION) --profile minimal --no-self-update
	CARGO_TARGET_DIR=$(TARGET_DIR)/msrv $(CARGO) +$(RUST_VERSION) check --workspace --locked

demo: build
	sh scripts/demo.sh $(RELEASED)

# BENCH_FLAGS='--only zeek --skip-zstd-19' measures less.
bench: build
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-logs -- \
		--duramen $(abspath $(RELEASED)) $(BENCH_FLAGS)
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-append

# BENCH_FLAGS='--quick' takes some minutes, and writes to bench/data. RocksDB takes 20 minutes to compile, and wants
# libclang; BENCH_CARGO_FLAGS=--no-default-features leaves it out.
bench-engine:
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-engine $(BENCH_CARGO_FLAGS) -- \
		all $(BENCH_FLAGS)

# BENCH_FLAGS='--quick' takes some 2 minutes, and writes to bench/data; '--postgres postgres://user@host/database' has
# a server measured, too.
bench-logger:
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-logger -- all $(BENCH_FLAGS)

# BENCH_FLAGS='--victorialogs http://127.0.0.1:9428 PID' compares with a VictoriaLogs that runs, too.
bench-http: build
	$(CARGO) run --release --locked --manifest-path bench/Cargo.toml --bin bench-http -- \
		--duramen $(abspath $(RELEASED)) $(BENCH_FLAGS)

clean-demo:
	sh scripts/demo.sh --clean
