"""The official client for Datadog's API, version 2, gzip included."""
import sys

from datadog_api_client import ApiClient, Configuration
from datadog_api_client.v2.api.logs_api import LogsApi
from datadog_api_client.v2.model.content_encoding import ContentEncoding
from datadog_api_client.v2.model.http_log import HTTPLog
from datadog_api_client.v2.model.http_log_item import HTTPLogItem

host, port, lines = sys.argv[1:]
configuration = Configuration(host=f"http://{host}:{port}", api_key={"apiKeyAuth": "any"})
with ApiClient(configuration) as client:
    for first in range(0, int(lines), 500):
        items = [
            HTTPLogItem(
                ddsource="web", ddtags="env:prod,version:5.1", hostname="web-1", message=f"line {i} of it",
                service="shop", status="warn",
            )
            for i in range(first, first + 500)
        ]
        LogsApi(client).submit_log(body=HTTPLog(items), content_encoding=ContentEncoding.GZIP)
