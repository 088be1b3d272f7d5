/** `seekrl runs list`: the runs below a folder, what each is doing and how far it is. */
import { relative } from "node:path";
import { z } from "zod";
import { codeOf } from "../../../../lib/base/errors.ts";
import { findRuns } from "../../../runs/find-runs.ts";
import { printable } from "../../../runs/named-in-record.ts";
import { RunFolder } from "../../../runs/run-folder.ts";
import { command } from "../../command.ts";
import { runsTable } from "../../report/run-tables.ts";

const unreadableLine = ({ name, reason }: { name: string; reason: string }): string =>
  `  ${printable(`${name}: ${reason}`)}\n`;

/** The command. */
export const runsListCommand = command({
  name: "runs list",
  summary: "lists trainings and evaluations below a folder",
  options: z.strictObject({ dir: z.string().default("runs").describe("folder to look in") }),
  places: ["dir"],
  run: async ({ dir }, io) => {
    const found = await findRuns([dir]);
    const shown = (path: string): string => relative(process.cwd(), path) || ".";
    const runs = [];
    const unreadable = [];
    for (const { path } of found.runs) {
      const name = shown(path);
      try {
        runs.push({ name, status: await new RunFolder(path).status() });
      } catch (error) {
        if (codeOf(error) === undefined) throw error;
        unreadable.push({ name, reason: (error as Error).message });
      }
    }
    unreadable.sort((a, b) => (a.name < b.name ? -1 : 1));
    runs.sort((a, b) => b.status.changedAt - a.status.changedAt);
    const evaluations = found.evaluations.map(({ path }) => shown(path));
    if (runs.length > 0) io.write(runsTable(runs));
    if (evaluations.length > 0)
      io.write(`\nresults of evaluations:\n${evaluations.map((each) => `  ${each}\n`).join("")}`);
    if (unreadable.length > 0) io.write(`\ncannot be read:\n${unreadable.map(unreadableLine).join("")}`);
    if (runs.length + evaluations.length + unreadable.length === 0) io.write(`no runs below ${dir}\n`);
    io.result({ runs: runs.map(({ name, status }) => ({ name, ...status })), evaluations, unreadable });
  },
});
