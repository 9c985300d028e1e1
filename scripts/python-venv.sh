# A virtual environment with tools from PyPI, for scripts that read this file. Before it they set `python`, the interpreter;
# `venv`, where it is to be; and `tools`, its packages at fixed versions. It is made anew when any of them changes.

missing() {
	echo "$(basename "$0" .sh): $1" >&2
	exit 1
}

# make_venv OLDEST: with Python OLDEST, such as 3.9, or newer.
make_venv() {
	command -v "$python" >/dev/null || missing "there is no $python: install Python $1 or newer, or name one in PYTHON"
	"$python" -c 'import sys; sys.exit(sys.version_info < tuple(map(int, sys.argv[1].split("."))))' "$1" ||
		missing "$("$python" --version) is too old: $1 or newer is needed"
	"$python" -c 'import ensurepip, venv' 2>/dev/null ||
		missing "$python has no module venv: install it (Debian, Ubuntu: apt-get install python3-venv)"
	made_of="$("$python" -c 'import sys; print(sys.executable, sys.version)') $tools"
	if [ "$(cat "$venv/made-of" 2>/dev/null)" != "$made_of" ]; then
		rm -rf "$venv"
		"$python" -m venv "$venv"
		"$venv/bin/python" -m pip install --quiet --disable-pip-version-check $tools ||
			missing "pip could not install $tools: is PyPI within reach?"
		printf '%s\n' "$made_of" >"$venv/made-of"
	fi
}
