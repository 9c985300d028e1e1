#!/bin/sh
# Builds the fuzz targets with coverage instrumentation, which the stable compiler can do, and runs each on its
# committed seeds and 20,000 inputs made of them, the same ones each time: so a test fails because of a change, not
# because of luck. With FUZZ_SECONDS, it looks for new ones that long, and goes on from what it found before.
# What is found goes to target/fuzz.
#
#   sh scripts/fuzz.sh                     every target
#   sh scripts/fuzz.sh wal query           these
#   sh scripts/fuzz.sh replay wal FILE     one input, once: to see a crash again
#
# FUZZ_JOBS targets (default: one a processor) run at the same time.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
cargo=${CARGO:-cargo}
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

# With --target, the flags are for what is fuzzed, and not for build scripts and macros. Comparisons are traced so
# that the fuzzer learns what a value is compared with.
build() {
	RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1" \
		CARGO_TARGET_DIR=$target_dir "$cargo" build --release --locked --quiet --bin fuzz --target "$host" \
		--manifest-path fuzz/Cargo.toml
}

build
fuzz=$target_dir/$host/release/fuzz
export RUST_BACKTRACE="${RUST_BACKTRACE:-1}"

if [ "${1:-}" = replay ]; then
	DURAMEN_FUZZ_TARGET=$2 exec "$fuzz" "$3"
fi

# Runs one target; prints one line, or all it said if it found something.
run_one() {
	name=$1
	corpus=$target_dir/corpus/$name artifacts=$target_dir/artifacts/$name log=$target_dir/$name.log
	if [ -n "${FUZZ_SECONDS:-}" ]; then
		how="-max_total_time=$FUZZ_SECONDS"
	else
		corpus=$target_dir/fixed/$name
		rm -rf "$corpus"
		how='-seed=1 -runs=20000 -max_total_time=20'
	fi
	mkdir -p "$corpus" "$artifacts"
	dictionary=
	[ ! -f "fuzz/dictionaries/$name.dict" ] || dictionary=-dict=fuzz/dictionaries/$name.dict
	if DURAMEN_FUZZ_TARGET=$name "$fuzz" $how -timeout=20 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$artifacts/" $dictionary "$corpus" "fuzz/corpus/$name" \
		>"$log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
		peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
		printf 'fuzz %-12s %8s runs, %6s edges, %4s MiB\n' "$name" "$runs" "$cover" "$peak"
	else
		tail -60 "$log"
		echo "fuzz $name FAILED. All it said is in $log; what it tried is above (artifact), or the newest in $artifacts."
		echo "To see it again:  sh scripts/fuzz.sh replay $name $artifacts/FILE"
		return 1
	fi
}

if [ "${1:-}" = one ]; then
	run_one "$2"
	exit
fi

[ $# -gt 0 ] || set -- $(ls fuzz/corpus)
printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS:-$(nproc)}" -n 1 sh "$root/scripts/fuzz.sh" one
