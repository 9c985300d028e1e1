#!/bin/sh
# Checks for races and undefined behaviour that need a nightly toolchain with the components rust-src and miri
# (`rustup toolchain install nightly --component rust-src,miri`), and so are no part of `make test`.
#
#   sh scripts/races.sh tsan [TEST...]    the engine's concurrent tests under the thread sanitizer, the standard library too
#   sh scripts/races.sh miri [TEST...]    the tests of unsafe code that Miri can run: those without files of the machine's
set -eu
cd "$(dirname "$0")/.."
what=${1:-}
[ $# -eq 0 ] || shift
cargo=${CARGO:-cargo}
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$what
host=$(rustc -vV | sed -n 's/^host: //p')

case $what in
tsan)
	[ $# -gt 0 ] || set -- lsm::memtable memory:: wal:: io::os lsm::background lsm::compaction::limiter
	export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR="$target_dir"
	# The simulator reads memory while threads write to it, as the kernel does when it writes pages to a device.
	mkdir -p "$target_dir"
	echo 'race:io::sim::region::Region' >"$target_dir/suppressions"
	export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1 suppressions=$target_dir/suppressions}"
	lib() { "$cargo" +nightly test -Zbuild-std --target "$host" --locked -p duramen-engine --lib -- "$@"; }
	for name; do
		lib --list "$name" | grep ': test$' >/dev/null || { echo "no test is called $name" >&2; exit 1; }
	done
	lib "$@"
	"$cargo" +nightly test -Zbuild-std --target "$host" --locked -p duramen-engine \
		--test wal_writer --test wal_read --test kv_log --test kv_threads
	;;
miri)
	# The crates that look at the processor or call the system are told not to.
	common="-Zmiri-disable-isolation -Zmiri-ignore-leaks"
	export CARGO_TARGET_DIR="$target_dir" PROPTEST_CASES="${PROPTEST_CASES:-4}"
	miri() { "$cargo" +nightly miri test --locked -p duramen-engine --lib -- "$@"; }
	if [ $# -gt 0 ]; then
		MIRIFLAGS="${MIRIFLAGS:-$common}" miri "$@"
		exit
	fi
	# Memtables lie in segments: their tests are those of segments' memory, too (`io::memory`, `wal::arena`).
	MIRIFLAGS=$common miri memory:: io::sim lsm::memtable --skip skiplist
	# The nodes of crossbeam's lists are reached through references to a part of them, which Miri's rules of borrowing
	# do not allow: all else is still checked.
	MIRIFLAGS="$common -Zmiri-disable-stacked-borrows" miri lsm::memtable::skiplist lsm::memtable::tests::skiplist
	;;
*)
	sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
