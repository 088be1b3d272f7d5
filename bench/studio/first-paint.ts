/**
 * How soon does the studio's page show something, and the first lines of a long list of trajectories?
 *
 * `npm run bench -- studio/first-paint [--trajectories 10000] [--rounds 7]`: rows of the quick demo, with their tokens,
 * repeated into one log. In each round server and browser begin anew, so the log is read and the page is asked for from
 * nothing. The peer is the stated goal: a first paint within a second.
 */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { serveStudio } from "../../apps/studio/studio.ts";
import { runDemo } from "../../apps/world/demo/demo.ts";
import { buildPage, openBrowser, whyNoBrowser } from "../../test/studio/browser.ts";
import { type FirstPaint, measureFirstPaint } from "../../test/studio/first-paint.ts";

const { values } = parseArgs({
  options: { trajectories: { type: "string", default: "10000" }, rounds: { type: "string", default: "7" } },
});
const [numTrajectories, numRounds] = [Number(values.trajectories), Number(values.rounds)];
const goalMs = 1000;

/** Rows of a real run, again and again, each question at a step of its own. */
async function writeLog(folder: string): Promise<string> {
  const demo = join(folder, "demo");
  await runDemo({ out: demo, quick: true });
  const log = await readFile(join(demo, "multi-seed-0-quick", "trajectories.jsonl"), "utf8");
  const rows = log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as object);
  const run = join(folder, "runs", "long");
  await mkdir(run, { recursive: true });
  const text = Array.from({ length: numTrajectories }, (_, i) =>
    JSON.stringify({ ...rows[i % rows.length], step: 1 + Math.floor(i / 16) }),
  );
  await writeFile(join(run, "trajectories.jsonl"), `${text.join("\n")}\n`);
  await writeFile(join(run, "metrics.jsonl"), `${JSON.stringify({ step: 1, "reward/mean": 0.5 })}\n`);
  return run;
}

async function round(roots: string): Promise<FirstPaint> {
  await using server = await serveStudio({ roots: [roots] }, { port: 0 });
  await using browser = await openBrowser();
  return await measureFirstPaint(browser, `${server.url}/studio/#/trajectories`);
}

/** The middle and the worst, milliseconds. */
function shown(of: readonly number[]): string {
  const sorted = of.toSorted((a, b) => a - b);
  return `median ${Math.round(sorted[sorted.length >> 1] ?? 0)} ms, worst ${Math.round(sorted.at(-1) ?? 0)} ms`;
}

if (whyNoBrowser) throw new Error(whyNoBrowser);
buildPage();
const folder = await mkdtemp(join(tmpdir(), "seekrl-first-paint-"));
try {
  const run = await writeLog(folder);
  const { size } = await stat(join(run, "trajectories.jsonl"));
  const rounds: FirstPaint[] = [];
  for (let i = 0; i < numRounds; i += 1) rounds.push(await round(join(folder, "runs")));
  const paints = rounds.map(({ paintMs }) => paintMs);
  console.log(`${numTrajectories} trajectories, ${(size / 1e6).toFixed(1)} MB, ${numRounds} rounds`);
  console.log(
    `first paint: ${shown(paints)}, ${(Math.max(...paints) / goalMs).toFixed(2)} of the goal at worst`,
  );
  console.log(`first lines of the list: ${shown(rounds.map(({ rowsMs }) => rowsMs))}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
