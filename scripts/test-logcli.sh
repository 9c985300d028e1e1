#!/bin/sh
# Builds logcli, Grafana Loki's command, and runs its tests against `duramen serve`. It needs Go with its module proxy in
# reach, and takes 11 minutes of one core the first time: so it is no part of `make test`. What is built is
# target/clients/logcli; DURAMEN_LOGCLI names another, which is taken as it is.
set -eu
cd "$(dirname "$0")/.."
clients=$(realpath -m "${CARGO_TARGET_DIR:-target}")/clients
version=v3.7.8

if [ -z "${DURAMEN_LOGCLI:-}" ] && [ "$(cat "$clients/logcli-of" 2>/dev/null)" != "$version" ]; then
	command -v go >/dev/null || {
		echo 'test-logcli: there is no Go to build logcli with; DURAMEN_LOGCLI names one that is there' >&2
		exit 1
	}
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	# Forks that Loki itself replaces modules by; `go install` would not know of them.
	cat >"$work/go.mod" <<MOD
module logcli.test

go 1.26

require github.com/grafana/loki/v3 $version

replace (
	github.com/Azure/azure-sdk-for-go => github.com/Azure/azure-sdk-for-go v68.0.0+incompatible
	github.com/Azure/azure-storage-blob-go => github.com/MasslessParticle/azure-storage-blob-go v0.14.1-0.20240322194317-344980fda573
	github.com/gocql/gocql => github.com/grafana/gocql v0.0.0-20200605141915-ba5dc39ece85
	github.com/grafana/regexp => github.com/grafana/regexp v0.0.0-20240518133315-a468a5bfb3bc
	github.com/hashicorp/memberlist => github.com/grafana/memberlist v0.3.1-0.20251126142931-6f9f62ab6f86
	github.com/influxdata/go-syslog/v3 => github.com/leodido/go-syslog/v4 v4.3.0
	github.com/thanos-io/objstore => github.com/grafana/objstore v0.0.0-20250728171719-b5d3b766d1b0
)
MOD
	printf '//go:build tools\n\npackage tools\n\nimport _ "github.com/grafana/loki/v3/cmd/logcli"\n' >"$work/tools.go"
	mkdir -p "$clients"
	go mod tidy -C "$work" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		exit 1
	}
	CGO_ENABLED=0 go build -C "$work" -buildvcs=false -ldflags='-s -w' -o "$clients/logcli" github.com/grafana/loki/v3/cmd/logcli
	printf '%s\n' "$version" >"$clients/logcli-of"
fi
DURAMEN_LOGCLI=${DURAMEN_LOGCLI:-$clients/logcli} "${CARGO:-cargo}" test --workspace --locked --test shippers logcli "$@"
