"""Answers the SQL statements that come, each a JSON string on a line: a JSON object for each row, then an empty line."""

import json
import sys

import duckdb

db = duckdb.connect()
print(json.dumps(duckdb.__version__), flush=True)
for line in sys.stdin:
    try:
        cursor = db.execute(json.loads(line))
        names = [column[0] for column in cursor.description or []]
        answer = "".join(json.dumps(dict(zip(names, row))) + "\n" for row in cursor.fetchall())
    except Exception as error:
        answer = json.dumps({"error": str(error)}) + "\n"
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()
