/**
 * Runs compiled tests: `node scripts/test.mjs [--full] [PART...]`.
 *
 * The default set is every file but those named `*.full.test.ts`, which take long or need what only `npm run test:full` builds;
 * `--full` is both. A PART keeps the files whose path contains it; one that is in paths of the full set alone runs those.
 */
import { readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chooseFiles, longestFirst } from "./test/choose.mjs";
import { readSeconds, writeSeconds } from "./test/seconds.mjs";
import { slowestLast } from "./test/slowest.mjs";

/** A file that takes this many milliseconds hangs: it is killed and fails, the others go on. */
const hangsAfterMs = 20 * 60_000;

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { values, positionals } = parseArgs({
  options: { full: { type: "boolean", default: false } },
  allowPositionals: true,
});

// By the sources: what an earlier build compiled may have moved since.
const sources = readdirSync(join(root, "test"), { recursive: true }).filter((file) =>
  file.endsWith(".test.ts"),
);
const chosen = chooseFiles(sources, positionals, { full: values.full });
if (chosen.length === 0) {
  process.stderr.write(`no test file matches ${positionals.join(" ")}\n`);
  process.exit(2);
}
const sizeOf = (file) => statSync(join(root, "test", file)).size;
const files = longestFirst(chosen, readSeconds(root), sizeOf).map((file) =>
  join(root, "dist", "test", file.replace(/ts$/, "js")),
);
const events = run({ files, concurrency: availableParallelism(), timeout: hangsAfterMs })
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .compose(slowestLast({ onFiles: (seconds) => writeSeconds(root, seconds) }))
  // This reporter names the failures once more at the end, where they are found.
  .compose(new spec());
await pipeline(events, process.stdout, { end: false });
// What a file that was killed has started may hold pipes open.
process.exit();
