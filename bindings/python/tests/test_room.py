"""Values that have no room in a line: it is kept, and says what it lacks."""

import duramen
import pytest


def graph(nodes):
    """Dicts that each hold all others."""
    made = [{"id": n} for n in range(nodes)]
    for node in made:
        node["peers"] = {str(other["id"]): other for other in made if other is not node}
    return made[0]


def test_values_that_refer_to_each_other_are_followed_so_far(open_log, rows):
    log = open_log()
    # All paths through a dozen are 100 million.
    log.info("m", extra={"node": graph(12), "order": 7})
    log.info("small", extra={"node": graph(3)})
    big, small = rows()
    assert big["node.id"] == 0 and big["node.peers.1.id"] == 1
    assert big["truncated_fields"] == ["node", "order"]
    assert small["node.peers.1.peers.2.peers.0"] == "{...}" and "truncated_fields" not in small


def test_lists_that_refer_to_each_other_are_followed_so_far(open_log, rows):
    value = [1]
    for _ in range(40):
        value = [value, value]
    open_log().info("m", extra={"value": value})
    (row,) = rows()
    assert row["value"].startswith("[" * 41 + "1]")
    assert row["truncated_fields"] == ["value"]


def test_more_members_than_a_line_has_fields(open_log, rows):
    open_log().info("m", extra={"all": {str(n): n for n in range(20_000)}})
    (row,) = rows()
    assert (row["all.0"], row["all.16000"], row["truncated_fields"]) == (0, 16_000, ["all"])


def test_long_names_and_long_values_are_cut(open_log, rows):
    log = open_log()
    log.info("name", extra={"nested": {"n" * 2000: 1}, "order": 7})
    log.info("value", extra={"text": "ä" * (20 << 20), "order": 7})
    log.info("list", extra={"texts": ["x" * (10 << 20)] * 5})
    log.info("x" * (20 << 20), extra={"text": "y" * (20 << 20)})
    name, value, texts, message = rows()
    assert (name["nested." + "n" * 1017], name["order"], name["truncated_fields"]) == (1, 7, ["nested"])
    assert len(value["text"]) > 15 << 20 and set(value["text"]) == {"ä"}
    assert "text" in value["truncated_fields"]
    assert texts["texts"].startswith('["xxx') and texts["truncated_fields"] == ["texts"]


def test_what_lies_very_deep_is_a_string_and_what_lies_deeper_is_left_out(open_log, rows):
    deep = {"end": 1}
    for _ in range(20):
        deep = {"in": deep}
    deeper = []
    for _ in range(100):
        deeper = [deeper]
    open_log().info("m", extra={"deep": deep, "deeper": deeper})
    (row,) = rows()
    assert row["deep" + 16 * ".in"] == '{"in":' * 4 + '{"end":1}' + "}" * 4
    found, levels = row["deeper"], 0
    while isinstance(found, list):
        (found,), levels = found, levels + 1
    assert (found, levels) == ("[...]", 64)


def test_fields_of_every_line_that_leave_no_room_are_an_error(store_dir, rows):
    with pytest.raises(ValueError, match="room"):
        duramen.Logger(store_dir, fields={str(n): n for n in range(20_000)})
    with duramen.Logger(store_dir, fields={"own": {str(n): n for n in range(10_000)}}) as log:
        log.info("m", all={str(n): n for n in range(10_000)})
    (row,) = rows()
    assert (row["own.9999"], row["all.6000"], row["truncated_fields"]) == (9999, 6000, ["all"])
