"""What the tests share."""

import logging
import pathlib

import duramen
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture
def store_dir(tmp_path):
    return tmp_path / "logs"


@pytest.fixture
def rows(store_dir):
    """Asks the store of the test, the oldest row first."""

    def ask(text="*", **options):
        options.setdefault("order", "oldest")
        return list(duramen.Store(store_dir).query(text, **options))

    return ask


@pytest.fixture
def open_log(store_dir):
    """Makes loggers that log into the store of the test, and are taken down after it."""
    made = []

    def make(name="test", **options):
        options.setdefault("sync_levels", [])
        handler = duramen.Handler(store_dir, **options)
        log = logging.Logger(name, logging.DEBUG)
        log.addHandler(handler)
        made.append(handler)
        return log

    yield make
    for handler in made:
        handler.close()
