/** How many seconds each test file took when it last ran, by its path in `test`: kept in `build` between runs. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const fileOf = (root) => join(root, "build", "test-seconds.json");

/** Nothing is known where nothing can be read: the order of files is all that hangs on it. */
export function readSeconds(root) {
  try {
    return JSON.parse(readFileSync(fileOf(root), "utf8"));
  } catch {
    return {};
  }
}

/** Adds to what is known. */
export function writeSeconds(root, seconds) {
  mkdirSync(dirname(fileOf(root)), { recursive: true });
  const known = { ...readSeconds(root), ...seconds };
  writeFileSync(fileOf(root), `${JSON.stringify(known, null, 1)}\n`);
}
