#!/bin/sh
# Fails if a command is larger than it is promised to be:
#
#   sh scripts/size.sh target/release/duramen
set -eu
most_bytes=$((20 << 20))
bytes=$(wc -c <"$1")
echo "$1 has $bytes bytes, and may have $most_bytes"
[ "$bytes" -lt "$most_bytes" ] || {
	echo "see where they are ('cargo bloat --release --crates'), and what may be optimised for size (Cargo.toml)" >&2
	exit 1
}
