#!/bin/sh
# The log shippers that the tests of `duramen serve` send with: a virtual environment for Python, a folder for Node and
# one for Java, and a Collector, all under target/clients, at fixed versions. Quick where they are there. Where PyPI, npm
# or Maven Central cannot be reached the tests say so, and DURAMEN_SKIP_CLIENTS=1 leaves them out.
set -eu
[ "${DURAMEN_SKIP_CLIENTS:-}" != 1 ] || exit 0
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
clients=$(realpath -m "${CARGO_TARGET_DIR:-target}")/clients
python_packages="opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-http==1.45.1
opentelemetry-exporter-otlp-json-http==0.66b1 opentelemetry-exporter-otlp-proto-grpc==1.45.1
python-logging-loki==0.3.1 elasticsearch==9.5.1 fluent-logger==0.11.1 pygelf==0.4.3
rfc5424-logging-handler==1.4.3 splunk-handler==3.0.0 datadog-api-client==2.62.0"
node_packages="pino@10.1.0 pino-loki@3.0.0 winston@3.19.0 winston-loki@6.1.7 @elastic/elasticsearch@9.5.1"

# The tests fail without them, and say why; others can still be run.
give_up() {
	echo "setup-clients: $1. DURAMEN_SKIP_CLIENTS=1 leaves their tests out." >&2
	exit 0
}

mkdir -p "$clients"
if [ "$(cat "$clients/python-of" 2>/dev/null)" != "$python_packages" ]; then
	"$python" -c 'import ensurepip, venv' 2>/dev/null || give_up "$python has no module venv"
	rm -rf "$clients/python"
	"$python" -m venv "$clients/python"
	"$clients/python/bin/python" -m pip install --quiet --disable-pip-version-check $python_packages ||
		give_up 'pip could not install the clients for Python'
	printf '%s\n' "$python_packages" >"$clients/python-of"
fi
if [ "$(cat "$clients/node-of" 2>/dev/null)" != "$node_packages" ]; then
	command -v npm >/dev/null || give_up 'there is no npm'
	rm -rf "$clients/node"
	mkdir -p "$clients/node"
	npm install --prefix "$clients/node" --silent --no-audit --no-fund --ignore-scripts $node_packages ||
		give_up 'npm could not install the clients for Node'
	printf '%s\n' "$node_packages" >"$clients/node-of"
fi

# Java's libraries need no building, only a JDK to run a source file with. Without one their tests are left out.
as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if ! command -v javac >/dev/null && command -v apt-get >/dev/null; then
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends default-jdk-headless \
		>/dev/null || echo 'setup-clients: apt-get could not install default-jdk-headless' >&2
fi
jars=$PWD/crates/duramen-cli/tests/shippers/clients/java.sha256
if command -v javac >/dev/null && ! cmp -s "$jars" "$clients/java-of"; then
	rm -rf "$clients/java"
	mkdir -p "$clients/java"
	while read -r sum path; do
		jar=$clients/java/${path##*/}
		curl -sSf --retry 3 -o "$jar" "https://repo1.maven.org/maven2/$path" || give_up "Maven Central has no $path"
		echo "$sum  $jar" | sha256sum --quiet -c - || give_up "$path is not what it was"
	done <"$jars"
	cp "$jars" "$clients/java-of"
fi

# OpenTelemetry's Collector, of a few official parts: 3.5 minutes of one core, once. Its tests are left out without Go.
source=crates/duramen-cli/tests/shippers/clients/collector
collector_of=$(cat "$source"/* | sha256sum)
if command -v go >/dev/null && [ "$(cat "$clients/collector-of" 2>/dev/null)" != "$collector_of" ]; then
	rm -f "$clients/collector"
	echo 'setup-clients: building a Collector of OpenTelemetry'
	if CGO_ENABLED=0 go build -C "$source" -buildvcs=false -trimpath -ldflags='-s -w' -o "$clients/collector" .; then
		printf '%s\n' "$collector_of" >"$clients/collector-of"
	else
		echo 'setup-clients: Go could not build the Collector: its tests are left out' >&2
	fi
fi

# Debian's own: rsyslog with its module for Elasticsearch, and what uploads a journal. Their tests are left out elsewhere.
if command -v apt-get >/dev/null && { [ ! -x /usr/sbin/rsyslogd ] || [ ! -x /lib/systemd/systemd-journal-upload ]; }; then
	apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get"
	$apt update -q >/dev/null 2>&1 || true
	$apt install -q -y --no-install-recommends rsyslog rsyslog-elasticsearch systemd-journal-remote >/dev/null ||
		echo 'setup-clients: apt-get could not install rsyslog and systemd-journal-remote' >&2
fi

# syslog-ng cannot be installed beside rsyslog: it is unpacked, with what it needs and this machine lacks.
if command -v dpkg >/dev/null && [ ! -x "$clients/debian/usr/sbin/syslog-ng" ]; then
	rm -rf "$clients/debian"
	mkdir -p "$clients/debian/packages"
	lacking=$(apt-get install -s -q --no-install-recommends syslog-ng-core syslog-ng-mod-http syslog-ng-scl 2>/dev/null |
		sed -n 's/^Inst \([^ ]*\).*/\1/p')
	# Where it is installed, it is unpacked all the same: what configures it then is the test's alone.
	(cd "$clients/debian/packages" && apt-get download -q syslog-ng-core syslog-ng-mod-http syslog-ng-scl $lacking \
		>/dev/null 2>&1) || echo 'setup-clients: apt-get could not download syslog-ng' >&2
	for package in "$clients"/debian/packages/*.deb; do
		[ ! -f "$package" ] || dpkg -x "$package" "$clients/debian"
	done
fi
