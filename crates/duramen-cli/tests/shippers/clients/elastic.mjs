// The official client for Node: helpers.bulk.
import { createRequire } from "node:module";
const require = createRequire(process.env.NODE_PATH + "/");
const { Client } = require("@elastic/elasticsearch");

const [host, port, lines] = process.argv.slice(2);
const client = new Client({ node: `http://${host}:${port}` });
const documents = Array.from({ length: Number(lines) }, (_, i) => ({
  "@timestamp": "2024-06-15T12:00:00.123Z",
  message: `line ${i} of it`,
  "log.level": "warn",
  order: i,
}));
const result = await client.helpers.bulk({
  datasource: documents,
  onDocument: () => ({ create: { _index: "logs-shop" } }),
});
if (result.failed !== 0 || result.successful !== Number(lines)) {
  console.error(result);
  process.exit(1);
}
