/** Logs of runs as a trainer would write them, made of numbers that depend on nothing but the row. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that is gone after the test. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-runs-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const stops = ["answer", "max_turns", "invalid", "length"] as const;

/** One trajectory of a log of 4 rollouts a question, 8 questions a step. */
export function loggedRow(row: number) {
  const [step, group] = [1 + Math.floor(row / 32), Math.floor((row % 32) / 4)];
  const reward = row % 13 === 0 ? null : ((row * 7919) % 101) / 100;
  const isRight = (row * 31) % 5 < 2;
  return {
    ...{ step, id: `q${(step * 3 + group) % 500}#${row % 4}`, group },
    question: `Who lived in Town ${(step * 3 + group) % 500}?`,
    ...{ answers: ["Ada"], answer: row % 7 === 0 ? null : isRight ? "ada" : "Bob", reward },
    ...{ em: row % 7 !== 0 && isRight ? 1 : 0, stop: stops[row % 4]!, turns: 1 + (row % 5) },
    ...{ rounds: row % 4, generatedTokens: 10 + (row % 90), queries: [[`town ${row}`]] },
    ...{ failures: [], weightsVersion: step - 1 },
    segments: [
      { kind: "prompt", text: `Answer: Who lived in Town "${row}"?`, tokens: 9 },
      { kind: "policy", text: `<answer> ${row} </answer>,"segments":[`, tokens: 10 + (row % 90) },
    ],
  };
}

/** What {@link loggedRow} gives. */
export type LoggedRow = ReturnType<typeof loggedRow>;

/** Rows as the bytes of a log. */
export function lines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** The path of a run's log. */
export function logOf(folder: string, name: "metrics" | "trajectories"): string {
  return join(folder, `${name}.jsonl`);
}
