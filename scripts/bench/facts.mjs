/** What a page says of the machine, the sources and the versions. */
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Milliseconds over which other programs are watched. */
const watchMs = 1000;

function times() {
  const sum = { busy: 0, all: 0 };
  for (const { times: each } of cpus()) {
    const all = Object.values(each).reduce((a, b) => a + b, 0);
    sum.all += all;
    sum.busy += all - each.idle;
  }
  return sum;
}

/** The share of all processors that other programs use, while this one waits. */
export async function shareOfOthers(signal) {
  const before = times();
  await pause(watchMs, undefined, { signal });
  const after = times();
  return after.all === before.all ? 0 : (after.busy - before.busy) / (after.all - before.all);
}

export function hardware() {
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${cpus()[0]?.model.trim() ?? "unknown processor"}, ${availableParallelism()} processors, ${gib} GiB, ${type()} ${release()}`;
}

export async function commitOf(root, run) {
  try {
    const hash = (await run("git", ["rev-parse", "--short", "HEAD"], { cwd: root })).stdout.trim();
    const { stdout } = await run("git", ["status", "--porcelain", "--untracked-files=no"], { cwd: root });
    return stdout.trim() === "" ? hash : `${hash} with changes`;
  } catch {
    return "unknown (no git)";
  }
}

/** Of SeekRL, Node and all that was set up; of Python's packages what is installed, which may be more than what is pinned. */
export async function versions(root, { python, homes }, run) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const told = [`seekrl ${version}`, `Node ${process.versions.node}`];
  if (python !== undefined) {
    const list =
      "import sys, importlib.metadata as m; names = 'torch transformers peft sentence-transformers faiss-cpu bm25s numba numpy onnx'; " +
      "has = {d.metadata['Name'].lower(): d.version for d in m.distributions()}; " +
      "print(', '.join(['Python %d.%d.%d' % sys.version_info[:3], *(f'{n} {has[n]}' for n in names.split() if n in has)]))";
    told.push((await run(python, ["-c", list])).stdout.trim());
  }
  for (const home of Object.values(homes)) {
    const { dependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    const [[name, pinned]] = Object.entries(dependencies);
    told.push(`${name} ${pinned}`);
  }
  return told.join(", ");
}
