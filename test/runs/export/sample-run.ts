/** A run as plain data, for exporters. */
import type { ExportedMetrics, ExportedRun, ExportedTrajectory } from "../../../apps/runs/export/exported.ts";

/** A trajectory with one search, and what is other about it. */
export function sampleTrajectory(other: Partial<ExportedTrajectory> = {}): ExportedTrajectory {
  return {
    ...{ step: 1, id: "q1#0", questionId: "q1", epoch: 1, question: "Who directed Nightwinter?" },
    ...{ answers: ["Loromos"], answer: "Loromos", stop: "answer", scores: { reward: 1, em: 1 } },
    ...{ rounds: 1, queries: [["who directed Nightwinter"]], failures: [] },
    numTokens: { prompt: 7, generated: 12, observed: 9 },
    segments: [
      { kind: "prompt", text: "Question: Who directed Nightwinter?\n" },
      { kind: "policy", text: "<search> who directed Nightwinter </search>" },
      { kind: "observation", text: "\nNightwinter was directed by Loromos.\n" },
      { kind: "policy", text: "<answer> Loromos </answer>" },
    ],
    ...other,
  };
}

/** What a run is made of. */
interface SampleParts extends Partial<Omit<ExportedRun, "metrics" | "trajectories" | "lastTrajectories">> {
  readonly metrics?: readonly ExportedMetrics[];
  readonly trajectories?: readonly ExportedTrajectory[];
}

async function* each<Row>(rows: readonly Row[]): AsyncGenerator<Row> {
  yield* rows;
}

/** A run. */
export function sampleRun({ metrics = [], trajectories = [], ...others }: SampleParts = {}): ExportedRun {
  return {
    ...{ name: "sample", kind: "training", model: "models/tiny", options: { steps: 2 }, hasEnded: true },
    endedAt: new Date("2026-11-20T12:00:00Z"),
    metrics: () => each(metrics),
    trajectories: () => each(trajectories),
    lastTrajectories: () => each(trajectories),
    ...others,
  };
}

/** All parts of a text put together. */
export async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const part of parts) text += part;
  return text;
}
