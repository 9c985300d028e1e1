#!/bin/sh
# Builds the wheel of bindings/python and tests it, in a virtual environment of its own under target/. It needs python3
# (3.9 or newer, with the module venv), a Rust toolchain and a C compiler, and installs the rest from PyPI, at fixed
# versions. PYTHON names another interpreter. Arguments go to pytest: sh scripts/test-python.sh -k fork
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target_dir/python
tools="maturin==1.16.0 pytest==8.4.2 structlog==25.4.0"
# For the tests of data frames, which are left out where there is no wheel of these: nobody compiles them for that.
frames="pandas==2.3.3 pyarrow==21.0.0"

. scripts/python-venv.sh
command -v "${CARGO:-cargo}" >/dev/null || missing "there is no cargo: install a Rust toolchain"
make_venv 3.9
if [ "$(cat "$venv/frames-of" 2>/dev/null)" != "$frames" ]; then
	if "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: $frames; then
		printf '%s\n' "$frames" >"$venv/frames-of"
	else
		echo "test-python: no wheels of $frames for this Python: the tests of data frames are left out" >&2
	fi
fi

# The same interpreter for both, so that one does not undo what the other built.
export CARGO_TARGET_DIR="$target_dir" PYO3_PYTHON="$venv/bin/python"
"${CARGO:-cargo}" clippy --quiet --locked --manifest-path bindings/python/Cargo.toml -- -D warnings
rm -rf "$venv/wheels"
"$venv/bin/maturin" build --quiet --locked --profile dev \
	--manifest-path bindings/python/Cargo.toml --interpreter "$venv/bin/python" --out "$venv/wheels"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall \
	"$venv"/wheels/duramen-*.whl
# Outside of the package's directory, so that it is the wheel that is tested.
cd bindings/python/tests
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
