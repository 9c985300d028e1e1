"""The handler: what becomes of a record."""

import datetime
import enum
import logging
import math
import os
import subprocess
import sys
import threading
import traceback

import duramen
import pytest


def test_a_line_has_the_parts_of_its_record(open_log, rows):
    log = open_log("shop.orders", fields={"app": "shop", "limits": {"cpu": 2}})
    log.warning("order %d of %s", 4711, "anna", extra={"order": 4711})
    (row,) = rows()
    assert row["_msg"] == "order 4711 of anna"
    assert row["level"] == "warn"
    assert row["logger"] == "shop.orders"
    assert row["file"] == __file__
    assert row["function"] == "test_a_line_has_the_parts_of_its_record"
    assert isinstance(row["line"], int)
    assert row["pid"] == os.getpid()
    assert row["process"] == "MainProcess"
    assert row["thread"] == threading.current_thread().name
    assert row["order"] == 4711
    assert row["app"] == "shop"
    assert row["limits.cpu"] == 2
    assert row["_stream"] == '{app="shop"}'


class Color(enum.IntEnum):
    RED = 3


class Unprintable:
    def __str__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "given, kept",
    [
        ("", ""),
        (-5, -5),
        (2**63, 2**63),
        (-(10**40), -(10**40)),
        (1.5, 1.5),
        (2.0, 2.0),
        (-0.0, -0.0),
        (1e-7, 1e-7),
        (1e300, 1e300),
        (math.inf, "inf"),
        (True, True),
        (None, None),
        (Color.RED, 3),
        ([1, "a\"\n\x01", None, 2.5, True, {"x": [()]}], [1, "a\"\n\x01", None, 2.5, True, {"x": [[]]}]),
        ((1, 2), [1, 2]),
        ({}, {}),
        (b"x", "b'x'"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (Unprintable(), "<Unprintable: str() raised RuntimeError>"),
        ([Unprintable()], ["<Unprintable: str() raised RuntimeError>"]),
    ],
)
def test_extra_fields_keep_their_types(open_log, rows, given, kept):
    open_log().info("m", extra={"field": given})
    (row,) = rows()
    assert row["field"] == kept and type(row["field"]) is type(kept)


def test_a_lone_surrogate_is_replaced(open_log, rows):
    open_log().info("a\ud800b", extra={"field": "\udcff"})
    (row,) = rows()
    assert row["_msg"].replace("\ufffd", "") == "ab" and "\ufffd" in row["_msg"]
    assert set(row["field"]) == {"\ufffd"}


def test_dicts_are_flattened_and_circles_end(open_log, rows):
    circle = {"name": "x"}
    circle["self"] = circle
    loop = [1]
    loop.append(loop)
    open_log().info("m", extra={"user": {"id": 7, "at": {"city": "Ulm"}, 1: "one"}, "circle": circle, "loop": loop})
    (row,) = rows()
    assert (row["user.id"], row["user.at.city"], row["user.1"]) == (7, "Ulm", "one")
    assert row["circle.name"] == "x" and row["circle.self"] == "{...}"
    assert row["loop"] == [1, "[...]"]


def test_ten_thousand_fields(open_log, rows):
    open_log().info("m", extra={"all": {str(n): n for n in range(10_000)}})
    (row,) = rows()
    assert row["all.9999"] == 9999


def test_an_exception_comes_with_its_trace(open_log, rows):
    log = open_log()
    try:
        raise ValueError("no such order")
    except ValueError:
        log.exception("refused")
        log.info("again", exc_info=True)
    log.error("nothing is wrong", exc_info=True)
    refused, again, nothing = rows()
    for row in (refused, again):
        assert row["exception.type"] == "ValueError"
        assert row["exception.message"] == "no such order"
        assert row["exception.stacktrace"].startswith("Traceback (most recent call last):")
        assert row["exception.stacktrace"].endswith("ValueError: no such order")
    assert refused["level"] == "error"
    assert "exception.type" not in nothing


def test_an_exception_with_lone_surrogates_costs_no_line(open_log, rows):
    log = open_log()
    try:
        raise ValueError("no such file: \udcff")
    except ValueError:
        log.exception("refused")
    (row,) = rows()
    assert (row["_msg"], row["exception.type"]) == ("refused", "ValueError")
    assert row["exception.message"].startswith("no such file: \ufffd")
    assert row["exception.stacktrace"].splitlines()[-1].startswith("ValueError: no such file: \ufffd")


def test_an_exception_whose_trace_cannot_be_formatted_costs_no_line(open_log, rows, monkeypatch):
    def format_exception(*_):
        raise AttributeError("'int' object has no attribute 'rstrip'")

    monkeypatch.setattr(traceback, "format_exception", format_exception)
    open_log().error("refused", exc_info=SyntaxError("no"))
    (row,) = rows()
    assert (row["_msg"], row["exception.type"], row["exception.message"]) == ("refused", "SyntaxError", "no")
    assert row["exception.stacktrace"] == "<formatting it raised AttributeError>"


def test_a_value_may_change_its_record_while_it_is_shown(open_log, rows):
    record = logging.makeLogRecord({"msg": "m", "levelno": 20})

    class Name:
        def __str__(self):
            record.one = record.two = "late"
            return "shop"

    record.name = Name()
    open_log().handle(record)
    (row,) = rows()
    assert (row["_msg"], row["logger"]) == ("m", "shop")


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_while_a_value_is_shown_costs_no_line_and_is_not_lost(open_log, rows, interrupt):
    class Slow:
        def __str__(self):
            raise interrupt

    log = open_log()
    with pytest.raises(interrupt):
        log.info("m", extra={"who": Slow(), "order": 7})
    log.info("after")
    first, after = rows()
    assert (first["_msg"], first["order"], after["_msg"]) == ("m", 7, "after")
    assert first["who"] == f"<Slow: str() raised {interrupt.__name__}>"


def test_an_interrupt_while_an_exception_is_shown_costs_no_line_and_is_not_lost(open_log, rows):
    class Slow(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_log().error("m", exc_info=Slow())
    assert [row["_msg"] for row in rows()] == ["m"]


@pytest.mark.parametrize("given", [(1,), ("a", "b", "c"), (1, 2, 3, 4)])
def test_an_exc_info_that_is_none_costs_no_line(open_log, rows, given):
    open_log().handle(logging.makeLogRecord({"msg": "m", "levelno": 40, "exc_info": given}))
    (row,) = rows()
    assert (row["_msg"], row["exception.message"]) == ("m", repr(given))
    assert "exception.type" not in row and "exception.stacktrace" not in row


def test_the_type_of_an_exception_says_its_module(open_log, rows):
    try:
        duramen.Store("/nowhere").query("|")
    except duramen.Error as error:
        open_log().error("m", exc_info=error)
    assert rows()[0]["exception.type"] == "duramen.QueryError"


def test_stack_info_and_the_text_of_an_exception_elsewhere(open_log, rows):
    log = open_log()
    log.info("m", stack_info=True)
    log.handle(logging.makeLogRecord({"msg": "from afar", "levelno": 40, "exc_text": "Traceback: far", "order": 1}))
    stack, afar = rows("* | sort by (_msg desc)")
    assert "test_handler.py" in stack["stack_info"]
    assert (afar["_msg"], afar["level"], afar["exception.stacktrace"]) == ("from afar", "error", "Traceback: far")
    assert afar["order"] == 1


def test_levels(open_log, rows):
    log = open_log()
    log.setLevel(1)
    logging.addLevelName(25, "SUCCESS")
    for level in (5, 10, 20, 25, 30, 40, 50):
        log.log(level, "m")
    found = [(row["level"], row.get("level_name")) for row in rows()]
    names = ["trace", "debug", "info", "info", "warn", "error", "fatal"]
    assert found == list(zip(names, ["Level 5", None, None, "SUCCESS", None, None, None]))


def test_a_field_called_level_does_not_hide_the_level(open_log, rows):
    open_log(fields={"level": "boss"}).error("dungeon crashed", extra={"level": 3})
    (row,) = rows("level:error")
    assert row["level"] == "error" and row["level#1"] in (3, "boss")


def test_time_is_the_records(open_log, rows):
    record = logging.makeLogRecord({"msg": "m", "levelno": 20, "created": 1_700_000_000.123456})
    open_log().handle(record)
    (row,) = rows(time_ns=True)
    assert row["_time"] == "2023-11-14T22:13:20.123456Z"
    assert row["_time_ns"] == 1_700_000_000_123_456_000


def test_arguments_that_do_not_fit_cost_no_line(open_log, rows, capsys):
    open_log().info("order %d", "x", extra={"a": 1})
    (row,) = rows()
    assert (row["_msg"], row["a"]) == ("order %d", 1)
    assert row["format_error"].startswith("TypeError")
    assert "--- Logging error ---" in capsys.readouterr().err


def test_messages_that_are_no_strings_and_records_of_ones_own(open_log, rows):
    class Braces(logging.LogRecord):
        def getMessage(self):
            return self.msg.format(*self.args)

    log = open_log()
    log.info({"a": 1})
    log.handle(Braces("n", 20, "f.py", 3, "order {}", (5,), None))
    assert [row["_msg"] for row in rows()] == ["{'a': 1}", "order 5"]


def test_a_value_that_logs_itself_ends(open_log, rows, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    log = open_log()

    class Chatty:
        def __str__(self):
            log.info("about me", extra={"me": self})
            return "chatty"

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        log.info("m", extra={"who": Chatty()})
    finally:
        sys.setrecursionlimit(limit)
    assert rows("m | fields who") == [{"who": "chatty"}]


def test_filters_are_heeded(open_log, rows):
    log = open_log()
    log.handlers[0].addFilter(lambda record: record.msg != "no")
    log.info("no")
    log.info("yes")
    log.handlers[0].setLevel("ERROR")
    log.info("no more")
    assert [row["_msg"] for row in rows()] == ["yes"]


def test_a_message_of_ten_megabytes_is_cut(open_log, rows):
    open_log().info("x" * 10_000_000)
    (row,) = rows()
    assert len(row["_msg"]) == 1 << 20 and row["truncated_from_bytes"] == 10_000_000


def test_one_logger_for_two_handlers(store_dir, rows):
    with duramen.Logger(store_dir) as shared:
        handler = duramen.Handler(shared, "INFO")
        handler.handle(logging.makeLogRecord({"msg": "a", "levelno": 20}))
        handler.close()
        shared.info("b")
        with pytest.raises(TypeError, match="durability"):
            duramen.Handler(shared, durability="sync")
    assert [row["_msg"] for row in rows("* | sort by (_msg)")] == ["a", "b"]


def test_options_that_are_none(store_dir):
    for options in (
        {"durability": "fsync"},
        {"durability": "interval:0"},
        {"sync_levels": ["loud"]},
        {"sync_levels": "error"},
        {"block_timeout_ms": -1},
        {"max_message_bytes": -1},
        {"write_buffer_size": -1},
        {"stream_fields": "app"},
    ):
        with pytest.raises(ValueError):
            duramen.Handler(store_dir, **options)
    with pytest.raises(TypeError):
        duramen.Handler(store_dir, no_such_option=1)


@pytest.mark.parametrize("durability", ["none", "process", "interval:50", "sync"])
def test_every_durability(open_log, rows, durability):
    log = open_log(durability=durability, sync_levels=["CRITICAL", logging.ERROR])
    log.error("a")
    log.info("b")
    log.handlers[0].flush()
    assert [row["_msg"] for row in rows()] == ["a", "b"]


def test_the_end_of_a_program_loses_nothing(store_dir, rows):
    program = (
        "import atexit, logging, sys, duramen\n"
        "log = logging.getLogger()\n"
        "log.addHandler(duramen.Handler(sys.argv[1]))\n"
        "log.warning('last words')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(store_dir)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["_msg"] for row in rows()] == ["last words"]


def test_what_is_logged_after_logging_has_shut_down_is_kept(store_dir, rows):
    program = (
        "import atexit\n"
        "atexit.register(lambda: log.warning('registered before all else'))\n"
        "import logging, sys, duramen\n"
        "log = logging.getLogger()\n"
        "log.addHandler(duramen.Handler(sys.argv[1]))\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        log.warning('at the very end')\n"
        "last = Last()\n"
        "log.warning('before')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(store_dir)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["_msg"] for row in rows()] == ["before", "registered before all else", "at the very end"]
