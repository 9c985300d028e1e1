#!/bin/sh
# Sends the server requests that schemathesis makes of its OpenAPI document, thousands of them, sensible and not: none may
# be answered with 5xx or with what the document does not tell. It needs python3 (3.10 or newer, with the module venv)
# and installs schemathesis from PyPI, at a fixed version, in a virtual environment under target/. PYTHON names another
# interpreter, DURAMEN the command to test (default: the debug build, which is made). EXAMPLES=1000 takes longer.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target_dir/schemathesis
tools="schemathesis==4.32.5"

. scripts/python-venv.sh
make_venv 3.10
if [ -z "${DURAMEN:-}" ]; then
	"${CARGO:-cargo}" build --quiet --locked -p duramen-cli
	DURAMEN=$target_dir/debug/duramen
fi
DURAMEN=$(realpath "$DURAMEN")

work=$(mktemp -d)
"$DURAMEN" --store "$work/store" serve --listen 127.0.0.1:0 --log-format json 2>"$work/log" &
server=$!
# It may still be writing when told to stop: its store goes when it has gone.
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# It says where it listens; there is nothing else to wait for.
address=$("$venv/bin/python" - "$work/log" "$server" <<'WAIT'
import json, os, sys, time
for _ in range(600):
    for line in open(sys.argv[1]):
        address = json.loads(line).get("fields", {}).get("address")
        if address:
            print(address)
            sys.exit()
    os.kill(int(sys.argv[2]), 0)  # an error if it has ended
    time.sleep(0.1)
sys.exit("it does not say where it listens")
WAIT
) || {
	cat "$work/log" >&2
	exit 1
}

# What is left out: answers that do not end, and what HTTP/1.1 cannot ask (gRPC). Checks that are: that what fits the
# types is taken, because a query, a time or a name may still make no sense.
hooks=$PWD/scripts/test-api-bodies.py
cd "$work" # it leaves a directory behind
SCHEMATHESIS_HOOKS=$hooks "$venv/bin/schemathesis" run "http://$address/api/openapi.json" \
	--phases coverage,fuzzing --max-examples "${EXAMPLES:-8}" --generation-deterministic --no-shrink \
	--continue-on-failure --request-timeout 30 --exclude-checks positive_data_acceptance \
	--exclude-path /select/logsql/tail --exclude-path /loki/api/v1/tail \
	--exclude-path /opentelemetry.proto.collector.logs.v1.LogsService/Export
if grep -q panicked "$work/log"; then
	cat "$work/log" >&2
	exit 1
fi
