"""The official client for Python: helpers.bulk, and a bad document among good ones."""
import sys

from elasticsearch import Elasticsearch, helpers

host, port, lines = sys.argv[1:]
client = Elasticsearch(f"http://{host}:{port}")
assert client.info()["version"]["number"].startswith("8.")
documents = (
    {
        "_op_type": "create" if i % 2 else "index",
        "_index": "logs-shop",
        "_source": {
            "@timestamp": "2024-06-15T12:00:00.123Z",
            "message": f"line {i} of it",
            "log": {"level": "warn"},
            "order": i,
        },
    }
    for i in range(int(lines))
)
taken, errors = helpers.bulk(client, documents)
assert (taken, errors) == (int(lines), []), (taken, errors)

taken, errors = helpers.bulk(client, [{"_op_type": "delete", "_index": "x", "_id": "1"}], raise_on_error=False)
assert taken == 0 and errors[0]["delete"]["status"] == 400, errors
