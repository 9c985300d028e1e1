"""What cannot be logged does not hurt the program, and is told."""

import logging
import subprocess
import sys

import duramen
import pytest


def run(program, *args):
    """Runs a program that is to end well; gives what it wrote to standard error."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, args)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_no_room(store_dir, rows):
    # A file that may not grow is a disk that is full.
    errors = run(
        "import logging, resource, sys, duramen\n"
        "handler = duramen.Handler(sys.argv[1], write_buffer_size=1 << 20, block_timeout_ms=0)\n"
        "log = logging.getLogger()\n"
        "log.addHandler(handler)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "for n in range(20_000):\n"
        "    logging.raiseExceptions = n == 19_999\n"
        "    log.warning('x' * 500)\n"
        "stats = handler.stats()\n"
        "assert stats['lines'] + stats['dropped'] + stats['errors'] == 20_000, stats\n"
        "assert stats['lines'] > 1000 and stats['dropped'] + stats['errors'] > 1000, stats\n"
        "assert stats['last_error'], stats\n"
        "print(stats['lines'], file=sys.stderr)\n",
        store_dir,
    )
    assert "duramen.Error" in errors
    (lines,) = [int(line) for line in errors.splitlines() if line.isdigit()]
    assert len(rows("xxx*")) == lines


def test_the_directory_goes_away(store_dir, tmp_path):
    run(
        "import logging, os, shutil, sys, duramen\n"
        "handler = duramen.Handler(sys.argv[1], write_buffer_size=1 << 20)\n"
        "log = logging.getLogger()\n"
        "log.addHandler(handler)\n"
        "log.warning('a')\n"
        "shutil.rmtree(sys.argv[1])\n"
        "open(sys.argv[1], 'w').close()\n"
        "for n in range(10_000):\n"
        "    log.warning('x' * 500)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    log.warning('in the child, which cannot open it')\n"
        "    assert handler.stats()['errors'] == 1\n"
        "    os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n",
        store_dir,
    )


def test_a_directory_that_is_no_store(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", "/proc/no/such"):
        with pytest.raises(duramen.Error):
            duramen.Handler(path)
    with pytest.raises(duramen.Error):
        duramen.Store(tmp_path / "nothing").query("*")


def test_after_close_lines_are_refused_and_told(open_log, rows, capsys):
    log = open_log()
    log.info("before")
    log.handlers[0].close()
    log.info("after")
    assert "--- Logging error ---" in capsys.readouterr().err
    assert [row["_msg"] for row in rows()] == ["before"]


def test_errors_go_to_handle_error(store_dir):
    seen = []

    class Mine(duramen.Handler):
        def handleError(self, record):
            seen.append((record.msg, sys.exc_info()[0]))

    handler = Mine(store_dir)
    handler.close()
    handler.handle(logging.makeLogRecord({"msg": "m", "levelno": 20}))
    assert seen == [("m", duramen.Error)]


def test_logger_raises_for_a_line_that_is_refused(store_dir):
    log = duramen.Logger(store_dir)
    log.info("fine")
    with pytest.raises(ValueError, match="loud"):
        log.log("loud", "m")
    log.close()
    with pytest.raises(duramen.Error, match="closed"):
        log.info("m")
    assert log.stats()["errors"] == 1 and "closed" in log.stats()["last_error"]
