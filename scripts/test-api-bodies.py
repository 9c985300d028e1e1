"""How scripts/test-api.sh has schemathesis write bodies of types that it does not know: as lines of JSON, which is right
for some of them, and nonsense that has to be refused for the others. And how it is to read rows."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/x-protobuf", "application/vnd.fdo.journal")
def as_lines(context, value):
    if isinstance(value, (bytes, str)):
        return {"data": value.encode() if isinstance(value, str) else value}
    rows = value if isinstance(value, list) else [value]
    return {"data": "".join(json.dumps(row) + "\n" for row in rows).encode()}


# It takes `application/stream+json` for one value of JSON, as all that end so.
@schemathesis.deserializer("application/json")
def value_or_rows(context, response):
    if "application/stream+json" in str(response.headers.get("content-type")):
        return [json.loads(line) for line in response.text.splitlines() if line]
    return response.json()
