/** The child of scripts/fuzz.mjs: runs cases of one target and says when each begins and how it ends. */
import { mkdirSync, mkdtempSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeekError } from "../../dist/lib/base/errors.js";
import { rollOf } from "./mutate.mjs";
import { calmDown, targets } from "./targets.mjs";

const [name, first, count] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "seekrl-fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Straight to the pipe: what is buffered is lost in a crash.
const say = (...words) => writeSync(1, `${words.join(" ")}\n`);

async function outcomeOf(target, context, seed) {
  try {
    await target.run(context, rollOf(seed));
    return "worked";
  } catch (error) {
    const isTyped = error instanceof SeekError && error.code !== "ERR_INTERNAL";
    if (isTyped) return error.code;
    return `finding ${JSON.stringify(String(error?.stack ?? error).slice(0, 600))}`;
  }
}

await calmDown();
const target = targets[name];
const base = join(folder, "base");
mkdirSync(base);
const context = await target.prepare(base, join(folder, "scratch"));
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  say("begin", seed);
  say("end", seed, await outcomeOf(target, context, seed));
}
process.exit(0);
