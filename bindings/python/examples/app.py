"""A shop that logs into a store, from three processes, and asks it afterwards.

    python examples/app.py [STORE_DIR]
"""

import logging
import os
import sys
import tempfile

import duramen


def serve(log: logging.Logger, orders: range) -> None:
    for order in orders:
        log.info("order %d received", order, extra={"order": order, "user": {"id": order * 7, "vip": order % 2 == 0}})
        try:
            if order % 3 == 0:
                raise ConnectionError("the bank does not answer")
        except ConnectionError:
            log.exception("payment refused", extra={"order": order})


def main(store_dir: str) -> None:
    logging.basicConfig(level=logging.INFO, handlers=[duramen.Handler(store_dir, fields={"app": "shop"})])
    log = logging.getLogger("shop.orders")

    # As gunicorn does: opened before the fork, used after it.
    children = []
    for worker in range(2):
        pid = os.fork()
        if pid == 0:
            serve(log, range(worker * 10, worker * 10 + 10))
            os._exit(0)  # without a word to the logger: the lines are safe all the same
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    log.info("closing time")

    store = duramen.Store(store_dir)
    for row in store.query("level:error refused", limit=2):
        print(row["_time"], row["level"], row["_msg"], row["order"], row["exception.type"])
    for row in store.query("* | stats by (level) count() lines | sort by (level)"):
        print(row["level"], row["lines"])
    columns = store.query("received | fields order, user.id, user.vip", order="oldest").to_columns()
    print(sorted(columns), len(columns["order"]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "logs"))
