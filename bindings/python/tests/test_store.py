"""Queries."""

import linecache
import signal
import threading
import warnings

import duramen
import pytest


@pytest.fixture
def log(store_dir):
    with duramen.Logger(store_dir, sync_levels=[]) as log:
        yield log


def test_logger_and_its_stats(log, rows):
    for level in ("trace", "debug", "info", "warning", "error", "critical"):
        getattr(log, level)("m", n=1)
    log.log("NOTICE", "m", message=2, self=3)
    try:
        raise KeyError("k")
    except KeyError:
        log.exception("m")
    log.sync()
    log.flush()
    found = rows()
    names = ["trace", "debug", "info", "warn", "error", "fatal", "info", "error"]
    assert [row["level"] for row in found] == names
    assert (found[6]["message"], found[6]["self"]) == (2, 3)
    assert found[7]["exception.type"] == "KeyError"
    stats = log.stats()
    assert (stats["lines"], stats["dropped"], stats["errors"], stats["incidents"]) == (8, 0, 0, [])
    assert (stats["reopened"], stats["unsynced"]) == (0, 0)


def test_rows_stream_and_stop(log, store_dir):
    for n in range(30_000):
        log.info("line", n=n, half=n / 2)
    log.flush()
    answer = duramen.Store(store_dir).query("line", order="oldest")
    assert [next(answer)["n"] for _ in range(3)] == [0, 1, 2]
    with answer:
        assert next(answer)["n"] == 3
    with pytest.raises(StopIteration):
        next(answer)
    assert sum(1 for _ in duramen.Store(store_dir).query("line")) == 30_000
    assert [row["n"] for row in duramen.Store(store_dir).query("line", limit=2)] == [29_999, 29_998]


def test_relative_paths_go_on_to_mean_the_same_when_the_program_goes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = duramen.Store("relative")
    with duramen.Logger("relative") as log:
        log.info("here")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        log.info("there")
        log.flush()
    assert sorted(row["_msg"] for row in store.query()) == ["here", "there"]


def test_columns_are_interrupted_by_a_signal(log, store_dir):
    for n in range(30_000):
        log.info("line", n=n)
    log.flush()

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    answer = duramen.Store(store_dir).query("*")
    try:
        with pytest.raises(Interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            answer.to_columns()
            signal.pause()
    finally:
        signal.signal(signal.SIGALRM, before)
    # Not after the last row.
    assert sum(1 for _ in answer) > 0


def test_columns(log, store_dir):
    for n in range(5_000):
        log.info("line", **({"even": True, "n": n} if n % 2 == 0 else {"odd": [n]}))
    columns = duramen.Store(store_dir).query("*", order="oldest", time_ns=True).to_columns()
    assert {len(column) for column in columns.values()} == {5_000}
    assert columns["n"] == [n if n % 2 == 0 else None for n in range(5_000)]
    assert columns["odd"] == [[n] if n % 2 else None for n in range(5_000)]
    assert columns["_time_ns"] == sorted(columns["_time_ns"])
    assert all(isinstance(time, str) for time in columns["_time"])
    assert duramen.Store(store_dir).query("nothing").to_columns() == {}
    rest = duramen.Store(store_dir).query("*", order="oldest", limit=10)
    next(rest), next(rest)
    assert rest.to_columns()["n"][:3] == [2, None, 4]


def test_pipes_and_the_types_they_give(log, rows):
    for n in range(10):
        log.info("line", n=n, price=n + 0.5, bank="n26" if n % 2 else "dkb")
    assert rows("* | stats by (bank) count() lines, sum(price) total | sort by (bank)") == [
        {"bank": "dkb", "lines": 5, "total": 22.5},
        {"bank": "n26", "lines": 5, "total": 27.5},
    ]
    assert rows("n:>7 | fields n", time_ns=False) == [{"n": 8}, {"n": 9}]
    assert len(rows("_time:5m")) == 10


def test_a_query_that_is_none_says_where(store_dir):
    with pytest.raises(duramen.QueryError) as caught:
        duramen.Store(store_dir).query("level:error\n  | stats by (")
    error = caught.value
    assert isinstance(error, duramen.Error)
    assert (error.line, error.column, error.position) == (2, 15, 26)
    assert error.message and error.message in str(error) and "^" in str(error)
    with pytest.raises(ValueError, match="newest or oldest"):
        duramen.Store(store_dir).query("*", order="random")
    with pytest.raises(ValueError, match="limit"):
        duramen.Store(store_dir).query("*", limit=-1)
    with pytest.raises(ValueError):
        duramen.Store(store_dir).query("\udcff")


def test_columns_are_counted_in_characters(store_dir):
    with pytest.raises(duramen.QueryError) as caught:
        duramen.Store(store_dir).query("häß |")
    assert caught.value.column == 6


def test_what_is_damaged_is_warned_of(log, store_dir):
    for n in range(2_000):
        log.info("line", n=n)
    log.flush()
    log.close()
    (table,) = store_dir.rglob("*.sst")
    damaged = bytearray(table.read_bytes())
    # In the first block, the only one.
    for at in range(200, 400):
        damaged[at] ^= 0xFF
    table.write_bytes(damaged)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            answer = duramen.Store(store_dir).query("line")
            assert answer.incomplete == []
            assert list(answer) == [] and "could not be read" in answer.incomplete[0]
    # Each time, and at the line that is to blame.
    assert [warning.category for warning in told] == [duramen.IncompleteAnswer] * 3
    assert "could not be read" in str(told[0].message)
    assert linecache.getline(told[0].filename, told[0].lineno).strip().startswith("assert list(answer) == []")


def test_one_store_many_threads(log, store_dir):
    for n in range(3_000):
        log.info("line", n=n)
    store = duramen.Store(store_dir)
    found = []
    threads = [threading.Thread(target=lambda: found.append(len(list(store.query("line"))))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3_000] * 4


def test_every_line_is_found_at_once(log, store_dir):
    store = duramen.Store(store_dir)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(50):
            log.info("line", n=n)
            assert next(store.query("line", limit=1))["n"] == n


@pytest.fixture
def slow_answer(log, store_dir):
    """An answer whose first row comes late."""
    for n in range(20_000):
        log.info("line", n=n)
    log.flush()
    return duramen.Store(store_dir).query("*" + " | join by (n) (* | fields n)" * 40 + " | stats count() n")


def test_another_thread_ends_a_query_and_the_wait_for_it(slow_answer):
    begun = threading.Event()
    found = []

    def read():
        begun.set()
        found.append(list(slow_answer))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait()
    slow_answer.close()
    for thread in threads:
        thread.join()
    assert found == [[], []]
    assert list(slow_answer) == []


def test_the_handler_of_a_signal_ends_a_query(slow_answer):
    before = signal.signal(signal.SIGALRM, lambda *_: slow_answer.close())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert slow_answer.to_columns() == {}
    finally:
        signal.signal(signal.SIGALRM, before)


def test_threads_share_the_rows_of_one_answer(log, store_dir):
    for n in range(5_000):
        log.info("line", n=n)
    answer = duramen.Store(store_dir).query("line")
    found = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda into=into: into.extend(row["n"] for row in answer)) for into in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(found, [])) == list(range(5_000))


def test_deep_queries_need_no_stack_of_the_thread_that_asks(log, store_dir):
    log.info("line")
    store = duramen.Store(store_dir)
    found = []

    def ask():
        found.append(len(list(store.query("(" * 99 + "line" + ")" * 99))))
        with pytest.raises(duramen.QueryError, match="deep"):
            store.query("(" * 200)
        found.append("told")

    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found == [1, "told"]
