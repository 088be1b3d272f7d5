/**
 * Damages inputs at random and uses them: `node scripts/fuzz.mjs [--seed 1] [--count 1000] [target]...`, every target without
 * a name. Each case ends in a typed error or works; a crash, an untyped error, more than 10 s and more than 2 GB are findings,
 * each printed with the call that repeats it. Case i has the seed `seed + i`. Needs `npm run build`.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { targets } from "./fuzz/targets.mjs";

const mostMs = 10_000;
const mostBytes = 2 * 2 ** 30;
const casesPerChild = 200;
const program = fileURLToPath(new URL("fuzz/cases.mjs", import.meta.url));

/** The most memory that a process has had; 0 once it is gone. */
function peakBytes(pid) {
  try {
    return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Runs cases from `first` on in one child; the outcomes by seed end early with the case that ended the child. */
async function runChild(target, first, count) {
  const child = spawn(process.execPath, [program, target, first, count], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
  const outcomes = [];
  let [current, began, killed, errors] = [undefined, Date.now(), undefined, ""];
  child.stderr.on("data", (chunk) => {
    errors = (errors + chunk).slice(-600);
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [word, seed, ...rest] = line.split(" ");
    if (word === "end")
      outcomes.push({ seed: Number(seed), outcome: rest.join(" "), ms: Date.now() - began });
    current = word === "begin" ? Number(seed) : undefined;
    began = Date.now();
  });
  const watch = setInterval(() => {
    if (current !== undefined && Date.now() - began > mostMs) killed ??= `more than ${mostMs} ms`;
    if (peakBytes(child.pid) > mostBytes) killed ??= `more than ${mostBytes} bytes of memory`;
    if (killed !== undefined) child.kill("SIGKILL");
  }, 50);
  const end = await closed;
  clearInterval(watch);
  if (end === 0) return outcomes;
  if (current === undefined && killed === undefined)
    throw new Error(`${target} from seed ${first}: ${end}\n${errors}`);
  const seed = current ?? outcomes.at(-1)?.seed ?? first;
  const last = { seed, outcome: `finding ${killed ?? `ended by ${end}: ${errors}`}`, ms: Date.now() - began };
  return [...outcomes.filter((each) => each.seed !== seed), last];
}

/** Runs a target's cases; how many were findings. */
async function fuzz(target, seed, count) {
  const counts = {};
  let [next, numFindings, worstMs] = [seed, 0, 0];
  while (next < seed + count) {
    const outcomes = await runChild(target, next, Math.min(casesPerChild, seed + count - next));
    for (const each of outcomes) {
      const kind = each.outcome.split(" ")[0];
      counts[kind] = (counts[kind] ?? 0) + 1;
      worstMs = Math.max(worstMs, each.ms);
      if (kind !== "finding") continue;
      numFindings += 1;
      console.log(`${each.outcome}\n  repeat: node scripts/fuzz.mjs --seed ${each.seed} --count 1 ${target}`);
    }
    next += outcomes.length;
  }
  console.log(
    `${target}: seeds ${seed} to ${seed + count - 1}: ${JSON.stringify(counts)}, worst ${worstMs} ms`,
  );
  return numFindings;
}

const { values, positionals } = parseArgs({
  options: { seed: { type: "string", default: "1" }, count: { type: "string", default: "1000" } },
  allowPositionals: true,
});
const [seed, count] = [Number(values.seed), Number(values.count)];
const unknown = positionals.find((name) => !Object.hasOwn(targets, name));
if (unknown !== undefined || !Number.isSafeInteger(seed) || !Number.isSafeInteger(count)) {
  console.error(`usage: fuzz.mjs [--seed N] [--count N] [${Object.keys(targets).join("|")}]...`);
  process.exit(2);
}
let numFindings = 0;
for (const name of positionals.length > 0 ? positionals : Object.keys(targets)) {
  numFindings += await fuzz(name, seed, count);
}
process.exitCode = numFindings === 0 ? 0 : 1;
