"""The processor for structlog."""

import io
import subprocess
import sys

import duramen
import pytest
import structlog


@pytest.fixture
def processor(store_dir):
    processor = duramen.structlog_processor(store_dir, sync_levels=[], fields={"app": "shop"})
    yield processor
    processor.close()


def logger(*processors):
    out = io.StringIO()
    return structlog.wrap_logger(structlog.PrintLogger(out), processors=list(processors)), out


def test_events_are_logged_and_passed_on(processor, rows):
    log, out = logger(structlog.stdlib.add_log_level, processor, structlog.processors.JSONRenderer(sort_keys=True))
    log.bind(user={"id": 7}).warning("refused", order=4711, items=["tea"])
    assert out.getvalue() == (
        '{"event": "refused", "items": ["tea"], "level": "warning", "order": 4711, "user": {"id": 7}}\n'
    )
    (row,) = rows()
    assert (row["_msg"], row["level"], row["order"], row["user.id"]) == ("refused", "warn", 4711, 7)
    assert (row["items"], row["app"]) == (["tea"], "shop")


def test_levels_and_exceptions(processor, rows):
    log, _ = logger(processor, structlog.processors.JSONRenderer())
    for method in ("debug", "msg", "warn", "error", "critical"):
        getattr(log, method)("m")
    log.info("m", level="loud")
    try:
        raise ValueError("no")
    except ValueError as error:
        log.error("m", exc_info=True)
        log.error("m", exc_info=error)
    found = rows()
    assert [row["level"] for row in found] == ["debug", "info", "warn", "error", "fatal", "info", "error", "error"]
    assert found[5]["level_name"] == "loud"
    for row in found[6:]:
        assert (row["exception.type"], row["exception.message"]) == ("ValueError", "no")
        assert "ValueError: no" in row["exception.stacktrace"]


def test_an_exc_info_that_is_none_costs_no_event(processor, rows):
    log, _ = logger(processor, structlog.processors.KeyValueRenderer())
    log.error("m", exc_info=(1,))
    (row,) = rows()
    assert (row["_msg"], row["exception.message"]) == ("m", "(1,)")


def test_a_level_that_is_no_name_is_a_field(processor, rows):
    log, _ = logger(processor, structlog.processors.KeyValueRenderer())
    log.warning("m", level=5)
    (row,) = rows()
    assert (row["level"], row["level#1"]) == ("warn", 5)


def test_an_event_may_end_here(store_dir, rows):
    processor = duramen.StructlogProcessor(store_dir, drop=True)
    log, out = logger(processor)
    log.info("m")
    processor.flush()
    processor.close()
    assert out.getvalue() == "" and len(rows()) == 1


def test_what_is_refused_does_not_raise(processor, rows, capsys):
    log, out = logger(processor, structlog.processors.KeyValueRenderer())
    processor.close()
    log.info("m")
    assert out.getvalue() == "event='m'\n"
    assert "an event was not logged" in capsys.readouterr().err


def test_structlog_is_not_needed():
    program = "import sys; sys.modules['structlog'] = None; import duramen; print(duramen.structlog_processor.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("StructlogProcessor\n", "")
