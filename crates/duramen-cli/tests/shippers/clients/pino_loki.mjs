// pino with its transport for Loki: batches of structured lines.
import { createRequire } from "node:module";
const require = createRequire(process.env.NODE_PATH + "/");
const pino = require("pino");
const { pinoLoki } = require("pino-loki");

const [host, port, lines] = process.argv.slice(2);
const stream = pinoLoki({
  host: `http://${host}:${port}`,
  batching: { interval: 1, maxBufferSize: 0 },
  labels: { application: "shop" },
  silenceErrors: false,
});
const logger = pino({ messageKey: "msg" }, stream);
for (let i = 0; i < Number(lines); i++) {
  logger.warn({ order: i }, `line ${i} of it`);
}
stream.end();
