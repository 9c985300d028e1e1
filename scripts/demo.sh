#!/bin/sh
# Shows duramen on this machine's own logs and on generated ones.
#
#   scripts/demo.sh DURAMEN    makes a new store under ./duramen-demo with the binary DURAMEN, and searches it
#   scripts/demo.sh --clean    removes ./duramen-demo again
set -eu

demo=duramen-demo
store=$demo/store
mark=$demo/made-by-make-demo
lines=100000

say() {
    printf '\n\033[1m%s\033[0m\n' "$*"
}
if [ ! -t 1 ]; then
    say() {
        printf '\n%s\n' "$*"
    }
fi

# Removes what an earlier demo made, and nothing else.
clean() {
    if [ -e "$mark" ]; then
        rm -rf "$demo"
    elif [ -e "$demo" ]; then
        echo "demo: ./$demo is not from an earlier demo; move it away first" >&2
        exit 1
    fi
}

if [ "${1-}" = --clean ]; then
    clean
    exit 0
fi
if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: $0 DURAMEN | --clean   (make demo builds the binary first)" >&2
    exit 2
fi
duramen=$1

# Whether a file is a log to read: readable, not empty, and text or compressed.
is_log() {
    [ -r "$1" ] && [ -s "$1" ] || return 1
    case $1 in
    *.gz | *.zst) return 0 ;;
    *.journal | *.journal~ | *.xz | *.bz2) return 1 ;;
    esac
    [ "$(dd if="$1" bs=4096 count=1 2>/dev/null | tr -dc '\000' | wc -c)" -eq 0 ]
}

# Shows a command as it is to be typed, and runs it.
query() {
    say "\$ duramen query --store $store '$1' --limit $2"
    "$duramen" query --store "$store" "$1" --limit "$2"
}

clean
mkdir "$demo"
: >"$mark"

# 256 MiB at most of each file: a demo should not take an hour.
set -f
newline='
'
old_ifs=$IFS
IFS=$newline
set --
for file in $(find /var/log -type f -size -524288 2>/dev/null | sort); do
    if is_log "$file"; then
        set -- "$@" "$file"
    fi
done
IFS=$old_ifs
set +f

if [ $# -gt 0 ]; then
    say "This machine's logs: $# files of /var/log"
    # A file may be rotated away, or turn out to be something else than a log: the others still go in.
    "$duramen" ingest --store "$store" "$@" || echo "demo: not all of /var/log could be read (see above)"
else
    say "This machine has no logs in /var/log that you may read."
fi

if command -v journalctl >/dev/null 2>&1 && journalctl -q -n 1 -o json 2>/dev/null | grep -q .; then
    say "This machine's journal: the last seven days"
    journalctl -q -o json --since -7d --no-pager 2>/dev/null | "$duramen" ingest --store "$store" -
fi

say "$lines generated lines: the last day of twenty services"
# A plain sh does not see the generator fail in a pipe, so what arrived is counted.
count() {
    "$duramen" query --store "$store" '* | stats count() n' --output ndjson | tr -dc '0-9'
}
before=0
if [ -d "$store" ]; then
    before=$(count)
fi
"$duramen" generate --lines "$lines" --seed 1 --start 25h | "$duramen" ingest --store "$store" -
after=$(count)
if [ $((after - before)) -ne "$lines" ]; then
    echo "demo: $lines lines were generated, but $((after - before)) are in the store" >&2
    exit 1
fi

query 'level:error | stats by (app) count() errors | sort by (errors desc)' 8
query 'app:edge status:>=500 | stats by (path) count() failed, quantile(0.9, duration_ms) p90_ms | sort by (failed desc)' 5

# The newest error that belongs to a request, and all that its services said about it.
# A line without a trace_id cannot match, so an empty answer is a fault.
trace=$("$duramen" query --store "$store" 'level:error app:edge trace_id:*' --limit 1 --output ndjson |
    sed -n 's/.*"trace_id":"\([0-9a-f]*\)".*/\1/p')
[ -n "$trace" ] || { echo "demo: no failed request found" >&2; exit 1; }
query "trace_id:$trace" 20

say "Now you:"
cat <<EOF
  $duramen query --store $store '"connection refused" | stats by (app) count()'
  $duramen query --store $store '_time:6h level:warn' --limit 20
  $duramen stats --store $store
  $duramen verify --store $store
  $duramen ingest --store $store YOUR-FILE.log
  $duramen query --help
EOF
