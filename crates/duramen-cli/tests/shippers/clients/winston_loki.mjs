// winston with its transport for Loki, in JSON.
import { createRequire } from "node:module";
const require = createRequire(process.env.NODE_PATH + "/");
const winston = require("winston");
const LokiTransport = require("winston-loki");

const [host, port, lines] = process.argv.slice(2);
let failure = null;
const transport = new LokiTransport({
  host: `http://${host}:${port}`,
  labels: { application: "shop" },
  json: true,
  batching: true,
  interval: 1,
  format: winston.format.printf(({ message }) => message),
  onConnectionError: (error) => (failure = error),
});
const logger = winston.createLogger({ transports: [transport] });
for (let i = 0; i < Number(lines); i++) {
  logger.warn(`line ${i} of it`, { labels: { part: "web" } });
}
await transport.flush();
if (failure) {
  console.error(failure);
  process.exit(1);
}
process.exit(0);
