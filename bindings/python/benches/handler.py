"""What one log call costs, through this handler and through logging.FileHandler, which loses lines when it dies.

    python benches/handler.py [LINES]
"""

import logging
import os
import platform
import sys
import tempfile
import time

import duramen


def measure(lines: int, handler: logging.Handler, **options: object) -> float:
    """Nanoseconds a call; the best of five rounds."""
    log = logging.Logger("bench.orders", logging.INFO)
    log.addHandler(handler)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter_ns()
        for n in range(lines):
            log.info("order %d received", n, **options)
        best = min(best, (time.perf_counter_ns() - start) / lines)
    handler.close()
    return best


def main(lines: int) -> None:
    print(f"Python {platform.python_version()}, {lines} lines a round, ns a call (best of 5 rounds)")
    extra = {"extra": {"order": 4711, "bank": "n26", "amount": 12.5, "vip": True}}
    with tempfile.TemporaryDirectory() as directory:
        cases = {
            "no handler does anything (NullHandler)": (lambda name: logging.NullHandler(), {}),
            "logging.FileHandler": (lambda name: logging.FileHandler(os.path.join(directory, name)), {}),
            "duramen.Handler": (lambda name: duramen.Handler(os.path.join(directory, name)), {}),
            "duramen.Handler, four extra fields": (lambda name: duramen.Handler(os.path.join(directory, name)), extra),
        }
        for name, (make, options) in cases.items():
            print(f"{measure(lines, make(name.replace(' ', '-')), **options):8.0f}  {name}")
        with duramen.Logger(os.path.join(directory, "logger")) as log:
            start = time.perf_counter_ns()
            for n in range(lines):
                log.info("order received", order=n)
            print(f"{(time.perf_counter_ns() - start) / lines:8.0f}  duramen.Logger, one field")
            log.flush()
        start = time.perf_counter_ns()
        rows = sum(1 for _ in duramen.Store(os.path.join(directory, "logger")).query("*"))
        print(f"{(time.perf_counter_ns() - start) / rows:8.0f}  a row of Store.query, as a dict")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
