/** Runs as logs of Inspect AI, held to the schema that it publishes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ExportedRun } from "../../../apps/runs/export/exported.ts";
import { inspectLog } from "../../../apps/runs/export/inspect.ts";
import { projectRoot } from "../../project.ts";
import { sampleRun, sampleTrajectory, textOf } from "./sample-run.ts";

const schema = JSON.parse(
  readFileSync(join(projectRoot, "test", "golden", "inspect", "log-schema.json"), "utf8"),
);
const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
const isLog = ajv.compile(schema);

/** The members of a log that tests look at. */
interface Log {
  readonly status: string;
  readonly results: {
    readonly total_samples: number;
    readonly scores: readonly {
      readonly name: string;
      readonly scored_samples: number;
      readonly metrics: Readonly<Record<string, { readonly value: number }>>;
    }[];
  };
  readonly stats: { readonly model_usage: Readonly<Record<string, object>> };
  readonly samples: readonly {
    readonly id: string;
    readonly epoch: number;
    readonly messages: readonly Readonly<Record<string, unknown>>[];
    readonly output: { readonly completion: string; readonly choices: readonly { stop_reason: string }[] };
  }[];
}

async function logOf(run: ExportedRun): Promise<Log> {
  const log = JSON.parse(await textOf(inspectLog(run, { version: "0.1.0" })));
  assert.ok(isLog(log), JSON.stringify(isLog.errors?.slice(0, 3)));
  return log as Log;
}

test("trainings and evaluations, those without a sample and those under way included, are valid logs", async () => {
  const trajectories = [
    sampleTrajectory(),
    sampleTrajectory({
      answer: null,
      stop: "max_turns",
      failures: ["no answer in 10 s"],
      scores: { reward: null },
    }),
    sampleTrajectory({ segments: [], queries: [] }),
  ];
  await logOf(sampleRun({ trajectories }));
  assert.equal((await logOf(sampleRun({ hasEnded: false, model: "" }))).status, "started");
  const { step: _, ...question } = sampleTrajectory({ set: "nq", scores: { em: 1, f1: 0.5, judge: null } });
  const figures = [{ name: "em", value: 1, interval: [0.9, 1] as const }];
  const { results } = await logOf(sampleRun({ kind: "evaluation", trajectories: [question], figures }));
  const em = results.scores.find(({ name }) => name === "em");
  assert.deepEqual([em?.metrics.low?.value, em?.metrics.high?.value], [0.9, 1]);
});

test("the schema refuses what is no log", () => {
  assert.ok(!isLog({ version: 2, status: "done" }));
});

test("a conversation has the prompt, calls with their queries, what was found, and the answer", async () => {
  const { samples } = await logOf(sampleRun({ trajectories: [sampleTrajectory()] }));
  const { messages = [], output } = samples[0] ?? {};
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "tool", "assistant"],
  );
  const [call] = (messages[1]?.tool_calls ?? []) as { id: string; arguments: object }[];
  assert.deepEqual(call?.arguments, { queries: ["who directed Nightwinter"] });
  assert.equal(messages[2]?.tool_call_id, call?.id);
  assert.equal(output?.completion, "<answer> Loromos </answer>");
  assert.equal(output?.choices[0]?.stop_reason, "stop");
});

test("where an observation answers no search no call is made up", async () => {
  const { samples } = await logOf(
    sampleRun({ trajectories: [sampleTrajectory({ queries: [], rounds: 0 })] }),
  );
  const messages = samples[0]?.messages ?? [];
  assert.ok(
    messages.every((message) => message.tool_calls === undefined && message.tool_call_id === undefined),
  );
});

test("means and standard errors are those of the scores, tokens are summed, unscored samples counted", async () => {
  const rewards = [1, 0, 0.5, null];
  const trajectories = rewards.map((reward, i) => sampleTrajectory({ epoch: i + 1, scores: { reward } }));
  const { results, stats, samples } = await logOf(sampleRun({ trajectories }));
  const [score] = results.scores;
  assert.equal(score?.metrics.mean?.value, 0.5);
  // The deviation of 1, 0, 0.5 is 0.5, and there are three of them.
  assert.ok(Math.abs((score?.metrics.stderr?.value ?? 0) - 0.5 / Math.sqrt(3)) < 1e-12);
  assert.deepEqual([score?.scored_samples, results.total_samples], [3, 4]);
  assert.deepEqual(stats.model_usage["models/tiny"], {
    input_tokens: 64,
    output_tokens: 48,
    total_tokens: 112,
  });
  const keys = samples.map(({ id, epoch }) => `${id} ${epoch}`);
  assert.equal(new Set(keys).size, keys.length);
});
