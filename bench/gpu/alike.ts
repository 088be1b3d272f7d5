/**
 * Do two commands say the same? `node dist/bench/gpu/alike.js A B` compares two files of JSON as a GPU's answer must be the
 * CPU's: the same words, numbers within what bf16 rounds.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";

/** How far a number may be, of itself and for small ones at all: bf16 has 8 bits, and a few layers round one after another. */
const relative = 0.02;
const absolute = 0.06;
/** What a command says of itself and not of its answer. */
const unequal = new Set(["device", "seconds", "durationMs", "ms", "tokensPerSecond"]);

/** The first place at which they differ; undefined: nowhere. */
function difference(a: unknown, b: unknown, at: string): string | undefined {
  if (typeof a === "number" && typeof b === "number")
    return Math.abs(a - b) <= absolute + relative * Math.abs(a) ? undefined : `${at}: ${a} and ${b}`;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null)
    return a === b ? undefined : `${at}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
  const [own, others] = [Object.entries(a), new Map(Object.entries(b))];
  if (own.length !== others.size) return `${at}: ${own.length} and ${others.size} entries`;
  for (const [name, value] of own) {
    const found = unequal.has(name) ? undefined : difference(value, others.get(name), `${at}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const [first = "", second = ""] = process.argv.slice(2);
const found = difference(
  ...([first, second].map((file) => JSON.parse(readFileSync(file, "utf8"))) as [unknown, unknown]),
  "",
);
process.stdout.write(
  `${found === undefined ? "ok" : "not ok"} - ${basename(first)} and ${basename(second)}${found === undefined ? " are alike" : `: ${found}`}\n`,
);
if (found !== undefined) process.exitCode = 1;
