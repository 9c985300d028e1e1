#!/bin/sh
# Runs a command while a server is under mixed load and is killed every half minute or so, and fails if either does:
#
#   sh scripts/beside-soak.sh make doc fuzz
#
# So the five minutes of it cost no minutes of their own. What the soak tells is in target/soak.log, and is shown when
# both have ended. SOAK_SECONDS and SOAK_LINES_PER_S say how long and how much: little, for it is a debug build, beside
# compilers. The command must not build the `duramen` that is tested, which lies in DURAMEN, anew: it is started again
# and again meanwhile.
set -eu
cd "$(dirname "$0")/.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
log=$target_dir/soak.log

# The same packages as `cargo test --workspace` has just compiled: with others, their features would be others.
built=$("${CARGO:-cargo}" test --color never --workspace --locked --test serve --no-run 2>&1) || {
	printf '%s\n' "$built" >&2
	exit 1
}
test=$(printf '%s\n' "$built" | sed -n 's/.*Executable tests\/serve.*(\(.*\))$/\1/p')
[ -x "$test" ] || test=$PWD/$test
[ -x "$test" ] || {
	echo "beside-soak: cargo does not say where the test is: $built" >&2
	exit 1
}

DURAMEN_SOAK_SECONDS=${SOAK_SECONDS:-300} DURAMEN_SOAK_LINES_PER_S=${SOAK_LINES_PER_S:-1000} \
	"$test" soak:: --nocapture >"$log" 2>&1 &
soak=$!
# Its server would outlive it.
trap 'kill -STOP "$soak"; pkill -KILL -P "$soak"; kill -KILL "$soak"; exit 1' INT TERM
echo "soak: ${SOAK_SECONDS:-300} s of it run beside what follows"

status=0
DURAMEN=$target_dir/debug/duramen "$@" || status=$?
[ "$status" = 0 ] || echo "beside-soak: $* has failed ($status); waiting for the soak" >&2
wait "$soak" || {
	[ "$status" != 0 ] || status=1
	echo "beside-soak: the soak has failed" >&2
}
echo 'soak:'
cat "$log"
exit "$status"
