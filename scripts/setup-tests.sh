#!/bin/sh
# What `make test` needs beside a Rust toolchain and a C compiler: PostgreSQL's server, which the tests of duramen-sinks
# start by themselves. Quick where it is there. Where it is missing it is installed with apt-get; where that cannot be,
# the tests say so, and DURAMEN_SKIP_POSTGRES=1 leaves them out. And the clients that send to the server under test, for
# Python and Node: see scripts/setup-clients.sh.
set -eu
cd "$(dirname "$0")/.."

# The log shippers that `duramen serve` is tested with.
sh scripts/setup-clients.sh

[ "${DURAMEN_SKIP_POSTGRES:-}" != 1 ] || exit 0

there() {
	if command -v initdb >/dev/null && command -v postgres >/dev/null; then
		return 0
	fi
	for bin in /usr/lib/postgresql/*/bin; do
		[ ! -x "$bin/initdb" ] || [ ! -x "$bin/postgres" ] || return 0
	done
	return 1
}

# The tests fail without it, and say why; others can still be run.
give_up() {
	echo "setup-tests: there is no PostgreSQL, and $1." >&2
	echo 'setup-tests: Install its server (Debian: apt-get install postgresql), or set DURAMEN_SKIP_POSTGRES=1 to leave' >&2
	echo 'setup-tests: its tests out.' >&2
	exit 0
}

! there || exit 0
as_root=
if [ "$(id -u)" != 0 ]; then
	as_root="sudo -n"
	$as_root true 2>/dev/null || give_up 'we may not install it'
fi
command -v apt-get >/dev/null || give_up 'no apt-get to install it with'
# sudo keeps no variables.
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get"
# It may also do with the lists that are there.
$apt update -q || true
# The server only: no cluster is made, and none is started.
$as_root mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' | $as_root tee /etc/postgresql-common/createcluster.d/duramen-tests.conf >/dev/null
$apt install -q -y --no-install-recommends postgresql || give_up 'apt-get cannot install it'
there || give_up 'it was not found after its installation'
