/** Exact match over time, of what most requests got and of what was tried. */

import type { Played } from "./player.ts";
import { historyOf, repliesOf, stableVersions } from "./records.ts";

function shareOf(played: readonly Played[]): string {
  if (played.length === 0) return "-";
  const share = (100 * played.reduce((sum, { em }) => sum + em, 0)) / played.length;
  return `${share.toFixed(1)} (${played.length})`;
}

/** Prints a row for every so many replies. */
export async function printTable(
  played: readonly Played[],
  { out, every }: { readonly out: string; readonly every: number },
): Promise<void> {
  const [history, replies] = [await historyOf(out), await repliesOf(out)];
  const stable = stableVersions(history);
  const isStable = ({ id }: Played): boolean => stable.has(replies.get(id)?.version ?? 0);
  const lines = [
    "| replies | seconds | feedback | EM %, stable (n) | EM %, candidate (n) | steps | decisions |",
  ];
  lines.push("|---|---|---|---|---|---|---|");
  let since = 0;
  for (let i = 0; i < played.length; i += every) {
    const rows = played.slice(i, i + every);
    const until = Math.max(...rows.map(({ id }) => replies.get(id)?.time ?? 0));
    const done = history.filter(({ time }) => time > since && time <= until);
    const decisions = done.filter(({ type }) => type !== "step" && type !== "opened").map(({ type }) => type);
    const steps = done.filter(({ type }) => type === "step").length;
    const feedback = rows.every(({ isPoisoned }) => isPoisoned) ? "opposite" : "true";
    const mixed = rows.some(({ isPoisoned }) => isPoisoned) && feedback === "true" ? "both" : feedback;
    const shares = [rows.filter(isStable), rows.filter((each) => !isStable(each))].map(shareOf);
    const seconds = rows.at(-1)?.at.toFixed(0);
    lines.push(
      `| ${[i + rows.length, seconds, mixed, ...shares, steps, decisions.join(", ")].join(" | ")} |`,
    );
    since = until;
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
