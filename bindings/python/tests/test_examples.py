"""The example, and the code in the README."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_example(store_dir):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "app.py"), str(store_dir)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    *refused, errors, info, columns = done.stdout.splitlines()
    assert len(refused) == 2 and all("error payment refused" in line for line in refused)
    assert (errors, info, columns) == ("error 7", "info 21", "['order', 'user.id', 'user.vip'] 20")


def test_the_readme(tmp_path):
    assert len(SNIPPETS) == 5
    # The last one asks what the others logged.
    for snippet in SNIPPETS:
        done = subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), snippet
    assert done.stdout.splitlines()[-1].startswith("14 ")
    assert "payment refused" in done.stdout


@pytest.mark.filterwarnings("error")
def test_the_docstring():
    import doctest

    import duramen

    assert doctest.testmod(duramen, raise_on_error=True).attempted > 3
