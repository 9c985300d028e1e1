#!/bin/sh
# What `make test` needs beside a Rust toolchain and a C compiler: PostgreSQL's server, which the tests of duramen-sinks
# start by themselves. Quick where it is there. Where it is missing it is installed with apt-get; where that cannot be,
# the tests say so, and DURAMEN_SKIP_POSTGRES=1 leaves them out.
set -eu

[ "${DURAMEN_SKIP_POSTGRES:-}" != 1 ] || exit 0

if command -v initdb >/dev/null && command -v postgres >/dev/null; then
	exit 0
fi
for bin in /usr/lib/postgresql/*/bin; do
	[ ! -x "$bin/initdb" ] || [ ! -x "$bin/postgres" ] || exit 0
done

as_root=
if [ "$(id -u)" != 0 ]; then
	as_root="sudo -n"
	$as_root true 2>/dev/null || as_root=none
fi
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null; then
	echo 'setup-tests: PostgreSQL is not installed, and cannot be from here: install its server (Debian: apt-get install' >&2
	echo 'setup-tests: postgresql), or set DURAMEN_SKIP_POSTGRES=1 to leave its tests out' >&2
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q
# The server only: no cluster is made, and none is started.
$as_root mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' | $as_root tee /etc/postgresql-common/createcluster.d/duramen-tests.conf >/dev/null
$as_root apt-get install -q -y --no-install-recommends postgresql
