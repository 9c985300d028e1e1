"""Answers as data frames. scripts/test-python.sh installs pandas and pyarrow where PyPI has wheels of them."""

import duramen
import pytest

LINES = 2_000


@pytest.fixture
def store(store_dir):
    with duramen.Logger(store_dir, fields={"app": "shop"}, sync_levels=[]) as log:
        for n in range(LINES):
            rare = {"rare": n} if n % 500 == 0 else {}
            log.log("error" if n % 4 == 0 else "info", f"line {n}", n=n, half=n / 2, even=n % 2 == 0, odd=[n], **rare)
    return duramen.Store(store_dir)


def test_a_pandas_frame(store):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(store.query("*", order="oldest", time_ns=True).to_columns())
    assert len(frame) == LINES
    kinds = {name: frame[name].dtype.kind for name in ("n", "half", "even", "_time_ns")}
    assert kinds == {"n": "i", "half": "f", "even": "b", "_time_ns": "i"}
    assert frame["n"].tolist() == list(range(LINES))
    assert (frame["half"] == frame["n"] / 2).all() and (frame["app"] == "shop").all()
    assert frame["odd"].tolist() == [[n] for n in range(LINES)]
    # A column with gaps is one of floats, until pandas is asked for its own integers.
    assert frame["rare"].dtype.kind == "f"
    rare = frame.convert_dtypes()["rare"]
    assert str(rare.dtype) == "Int64" and rare.dropna().tolist() == [0, 500, 1000, 1500]
    times = pandas.to_datetime(frame["_time_ns"], utc=True)
    assert (times == pandas.to_datetime(frame["_time"], utc=True, format="ISO8601")).all()
    assert times.is_monotonic_increasing
    # What pandas counts, LogsQL counts.
    counted = {row["level"]: row["lines"] for row in store.query("* | stats by (level) count() lines")}
    assert frame.groupby("level").size().to_dict() == counted == {"error": LINES // 4, "info": LINES * 3 // 4}


def test_an_arrow_table(store):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(store.query("*", order="oldest", time_ns=True).to_columns())
    assert table.num_rows == LINES
    kinds = {name: str(table.schema.field(name).type) for name in ("n", "half", "even", "odd", "rare", "_msg", "_time_ns")}
    assert kinds == {
        "n": "int64",
        "half": "double",
        "even": "bool",
        "odd": "list<item: int64>",
        "rare": "int64",
        "_msg": "string",
        "_time_ns": "int64",
    }
    assert table.column("rare").null_count == LINES - 4
    assert table.column("n").to_pylist() == list(range(LINES))
    times = table.column("_time_ns").cast(pyarrow.timestamp("ns", tz="UTC"))
    assert times[0].value == table.column("_time_ns")[0].as_py()
    assert pyarrow.table(store.query("nothing").to_columns()).num_columns == 0


def test_a_field_of_several_types_is_made_one_type_first(store_dir):
    pyarrow = pytest.importorskip("pyarrow")
    with duramen.Logger(store_dir) as log:
        log.info("a", id=7)
        log.info("b", id="seven")
        log.info("c")
    columns = duramen.Store(store_dir).query("*", order="oldest").to_columns()
    with pytest.raises(pyarrow.ArrowException):
        pyarrow.table(columns)
    columns["id"] = [None if value is None else str(value) for value in columns["id"]]
    assert pyarrow.table(columns).column("id").to_pylist() == ["7", "seven", None]
