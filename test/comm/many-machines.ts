/** What docs/many-machines.md shows, and what its calls start. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../project.ts";
import type { Call } from "./dry-run.ts";

export const page = readFileSync(join(projectRoot, "docs", "many-machines.md"), "utf8");
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind, text = ""]) => ({
  kind,
  text,
}));

/** A file of the page, by its first line. */
export function fileOf(begin: string): string {
  const block = blocks.find(({ text }) => text.startsWith(begin));
  assert.ok(block, begin);
  return block.text;
}

export const inner = ["train", "--config", "train.yaml"];

export const withoutProgram = ({ args, variables }: Call): Call => {
  const [program = "", ...rest] = args;
  assert.match(program, /bin\/seekrl\.mjs$/);
  return { args: rest, variables };
};

export function requireTraining(calls: readonly Call[]): NodeJS.ProcessEnv[] {
  return calls.map(withoutProgram).map(({ args, variables }) => {
    assert.deepEqual(args, inner);
    return variables;
  });
}

/** What a batch script asks for. */
function sbatchOf(script: string): Record<string, string> {
  const lines = [...script.matchAll(/^#SBATCH --([\w-]+)(?:=(\S+))?$/gm)];
  assert.equal(lines.length, script.match(/^#SBATCH/gm)?.length);
  return Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value]));
}

/** The variables of a batch script (sbatch's manual: OUTPUT ENVIRONMENT VARIABLES). */
export function batchVariables(script: string): Record<string, string> {
  const { nodes = "", "ntasks-per-node": tasks = "", "cpus-per-task": cpus = "" } = sbatchOf(script);
  const all = String(Number(nodes) * Number(tasks));
  return {
    ...{ NODES: nodes, TASKS: tasks, SLURM_JOB_ID: "4711", SLURM_JOB_NODELIST: "gpu[07-08]" },
    ...{ SLURM_NTASKS: all, SLURM_NTASKS_PER_NODE: tasks, SLURM_CPUS_PER_TASK: cpus, SLURM_PROCID: "0" },
  };
}
