"""Forks, spawned processes, threads, and death."""

import logging
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading

import duramen
import pytest

LINES = 500

# Python 3.12 and later warn of a fork beside the keeper's thread.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def numbers(rows, text):
    return sorted(row["n"] for row in rows(text))


def wait_for(pids):
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def fork(work):
    """Runs it in a child, which ends without a word to anybody."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def test_prefork_while_the_parent_logs(open_log, rows):
    log = open_log(write_buffer_size=1 << 20)
    enough = threading.Event()
    logged = 0

    def parent():
        nonlocal logged
        while not enough.is_set() or logged < LINES:
            log.info("parent", extra={"n": logged})
            logged += 1

    thread = threading.Thread(target=parent)
    thread.start()
    children = [
        fork(lambda k=k: [log.info("child", extra={"n": k * LINES + n}) for n in range(LINES)]) for k in range(4)
    ]
    codes = wait_for(children)
    enough.set()
    thread.join()
    assert codes == [0] * 4
    assert numbers(rows, "child") == list(range(4 * LINES))
    assert numbers(rows, "parent") == list(range(logged))
    assert {row["pid"] for row in rows("child")} == set(children)
    assert {row["pid"] for row in rows("parent")} == {os.getpid()}


def test_a_child_of_a_child_and_an_error_there(open_log, rows):
    log = open_log(sync_levels=["ERROR"])

    def child():
        log.error("child")
        assert wait_for([fork(lambda: log.error("grandchild"))]) == [0]
        log.handlers[0].close()

    assert wait_for([fork(child)]) == [0]
    log.error("parent")
    assert sorted(row["_msg"] for row in rows()) == ["child", "grandchild", "parent"]


def in_spawned(store_dir, k):
    handler = duramen.Handler(store_dir)
    log = logging.getLogger("spawned")
    log.addHandler(handler)
    for n in range(LINES):
        log.warning("spawned", extra={"n": k * LINES + n})


def in_forked(log, k):
    for n in range(LINES):
        log.warning("forked", extra={"n": k * LINES + n})


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing(store_dir, open_log, rows, method):
    context = multiprocessing.get_context(method)
    log = open_log()
    if method == "spawn":
        work = [context.Process(target=in_spawned, args=(store_dir, k)) for k in range(2)]
    else:
        work = [context.Process(target=in_forked, args=(log, k)) for k in range(2)]
    for process in work:
        process.start()
    for process in work:
        process.join()
    assert [process.exitcode for process in work] == [0, 0]
    log.info("done")
    assert numbers(rows, f"{method}ed") == list(range(2 * LINES))


def test_threads(open_log, rows):
    log = open_log(sync_levels=["ERROR"])

    def work(k):
        for n in range(LINES):
            log.log(logging.ERROR if n % 100 == 0 else logging.INFO, "thread", extra={"n": k * LINES + n})

    threads = [threading.Thread(target=work, args=(k,), name=f"worker-{k}") for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(rows, "*") == list(range(4 * LINES))
    assert len(rows("thread:worker-2")) == LINES


def test_other_threads_go_on_while_a_logger_is_dropped(store_dir):
    log = duramen.Logger(store_dir, sync_levels=[])
    for n in range(1000):
        log.info("m", n=n)
    ticks = 0
    dropped = threading.Event()

    def tick():
        nonlocal ticks
        while not dropped.is_set():
            ticks += 1
            select.select([], [], [], 0)  # lets others have the GIL

    thread = threading.Thread(target=tick)
    thread.start()
    # From here on, whoever has the GIL keeps it until it waits for something.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        ticks_before = ticks
        del log
        more = ticks - ticks_before
    finally:
        sys.setswitchinterval(before)
        dropped.set()
    thread.join()
    assert more > 0


def test_what_was_acknowledged_survives_kill_9(store_dir, rows):
    program = (
        "import logging, os, sys, duramen\n"
        "log = logging.getLogger()\n"
        "log.setLevel('INFO')\n"
        "log.addHandler(duramen.Handler(sys.argv[1], write_buffer_size=1 << 20))\n"
        "n = 0\n"
        "while True:\n"
        "    log.info('line', extra={'n': n, 'text': 'x' * 200})\n"
        "    os.write(1, b'%d\\n' % n)\n"
        "    n += 1\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(store_dir)], stdout=subprocess.PIPE) as process:
        for _ in range(12_000):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        # What it said since then, up to a line that it may have begun.
        acknowledged = 12_000 + process.stdout.read().count(b"\n")
    found = numbers(rows, "*")
    assert found == list(range(len(found)))
    # It may have been killed between the line and its acknowledgement.
    assert acknowledged <= len(found) <= acknowledged + 1


def test_a_query_does_not_go_on_in_a_forked_child(open_log, store_dir):
    log = open_log()
    for n in range(20_000):
        log.info("m", extra={"n": n})
    answer = duramen.Store(store_dir).query()
    next(answer)

    def child():
        with pytest.raises(duramen.Error, match="ask again"):
            list(answer)
        assert len(list(duramen.Store(store_dir).query("*", limit=3))) == 3

    assert wait_for([fork(child)]) == [0]
    assert len(list(answer)) == 19_999


def test_daemon_threads_that_log_do_not_spoil_the_end_of_a_program(store_dir):
    # The interpreter ends them where they next wait for the GIL, which is in `__str__`.
    program = (
        "import logging, sys, threading, duramen\n"
        "logging.raiseExceptions = False\n"
        "log = logging.getLogger()\n"
        "log.setLevel('INFO')\n"
        "log.addHandler(duramen.Handler(sys.argv[1], sync_levels=[]))\n"
        "shown = threading.Semaphore(0)\n"
        "class Slow:\n"
        "    def __str__(self):\n"
        "        shown.release()\n"
        "        return str(sum(n for n in range(20_000)))\n"
        "def work():\n"
        "    while True:\n"
        "        log.info('daemon %s', Slow(), extra={'slow': Slow()})\n"
        "for _ in range(4):\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "for _ in range(20):\n"
        "    shown.acquire()\n"
    )
    ended = [
        subprocess.run([sys.executable, "-c", program, str(store_dir)], capture_output=True, timeout=60).returncode
        for _ in range(12)
    ]
    assert ended == [0] * 12
