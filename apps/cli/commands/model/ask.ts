/** `seekrl ask`: an agent answers one question, or one after the other, and its events are printed as they come. */
import { createInterface, type Interface } from "node:readline";
import { z } from "zod";
import { agentPartsOf } from "../../../../lib/recipes/plan.ts";
import type { Recipe } from "../../../../lib/recipes/recipe.ts";
import { type AgentParts, searchAgent } from "../../../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../../../lib/rollout/trajectory.ts";
import { type Baseline, baselineAgent, baselineNames, searchesFor } from "../../../baselines/baselines.ts";
import { foundText } from "../../chat/agent-speaker.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { type AskedRecipe, askedRecipe, recipeAsked, worldText } from "../../open/asked-recipe.ts";
import { policiesOf, policyOptions } from "../../open/policies.ts";
import {
  agentOptions,
  type Environment,
  noSearch,
  openEnvironment,
  refuseIdleTools,
} from "../../options/agent-options.ts";
import { askedRecipeOptions } from "../../options/recipe-options.ts";
import { samplingOptions } from "../../options/sampling-options.ts";
import { refuseRun } from "../../report/missing-path.ts";

const options = z.strictObject({
  question: z
    .string()
    .min(1)
    .optional()
    .describe("what to answer; without one, each line of the input is one"),
  ...policyOptions,
  ...agentOptions,
  ...askedRecipeOptions,
  baseline: z.enum(baselineNames).optional().describe("a plain way to answer in place of the recipe"),
  temperature: samplingOptions.temperature.default(0),
  topP: samplingOptions.topP,
  seed: z.int().min(0).default(0).describe("fixes every sampled token"),
});

type Options = z.output<typeof options>;

/** The command. */
export const askCommand = command({
  name: "ask",
  summary: "answers a question, and shows thoughts, queries and what was found as they come",
  places: ["question"],
  options,
  run: async (given, io) => {
    const [policy, another] = policiesOf(given);
    if (policy === undefined || another !== undefined) {
      // Of a run with one checkpoint it is plain which one is meant.
      for (const folder of given.model ?? []) refuseRun("--model", folder);
      throw new UsageError(`--model: expected one model, got ${given.model?.join(", ") ?? "several"}`);
    }
    refuseIdleTools(given);
    const asked = await askedRecipe(policy.folders, given);
    const told = asked.world === undefined ? asked.told : worldText(asked.world);
    if (told !== undefined) io.log(told);
    const options = { ...given, recipe: asked.choice };
    const needsSearch = given.baseline === undefined || searchesFor(given.baseline);
    await using environment = needsSearch
      ? await openEnvironment(options, io, asked.world?.search)
      : noSearch;
    const recipe = chosenRecipe(asked, given, environment);
    await using opened = await policy.open(io);
    const ask = (question: string, signal: AbortSignal) =>
      answer(question, agentPartsOf(opened, recipe, environment.search), given, { io, signal });
    if (given.question !== undefined) {
      io.result(await ask(given.question, io.signal));
      return;
    }
    io.result({ answers: await conversation(ask, io) });
  },
});

function chosenRecipe(asked: AskedRecipe, options: Options, { tools }: Environment): Recipe {
  const { world } = asked;
  const recipe =
    world !== undefined && tools === undefined ? world.recipe : recipeAsked(asked, options, { tools });
  return { ...recipe, sampling: { temperature: options.temperature, topP: options.topP } };
}

async function answer(
  question: string,
  parts: AgentParts,
  { seed, baseline }: { readonly seed: number; readonly baseline?: Baseline | undefined },
  { io, signal }: { readonly io: CommandIo; readonly signal: AbortSignal },
): Promise<object> {
  const agent = baseline === undefined ? searchAgent(parts) : baselineAgent(parts, baseline);
  let record = {};
  for await (const event of agent.stream({ question }, { seed, signal })) {
    if (event.type === "text") io.write(event.text);
    if (event.type === "turn") io.write("\n");
    if (event.type === "documents") io.write(event.documents.map(foundText).join(""));
    if (event.type !== "done") continue;
    conclude(event.trajectory, io);
    record = recordOf(question, event.trajectory);
  }
  return record;
}

function conclude({ answer, stop, rounds, timings, failureReasons = [] }: Trajectory, io: CommandIo): void {
  for (const reason of failureReasons) io.log(`a search failed: ${reason}`);
  const seconds = (timings.totalMs / 1000).toFixed(1);
  const searches = rounds === 1 ? "1 search" : `${rounds} searches`;
  io.write(
    `${answer === undefined ? `no answer (${stop})` : `answer: ${answer}`} [${searches}, ${seconds} s]\n`,
  );
}

function recordOf(question: string, trajectory: Trajectory): object {
  const { answer, stop, turns, rounds, queries, failureReasons = [], timings, segments } = trajectory;
  return {
    ...{ question, answer: answer ?? null, stop, turns, rounds, queries },
    failures: failureReasons,
    seconds: timings.totalMs / 1000,
    segments: segments.map(({ kind, text }) => ({ kind, text })),
  };
}

/** Questions line by line. Ctrl-C ends an answer that is under way, and between answers the conversation. */
async function conversation(
  ask: (question: string, signal: AbortSignal) => Promise<object>,
  io: CommandIo,
): Promise<object[]> {
  const input = io.stdin();
  const isTerminal = input.isTTY === true && !io.json;
  const { signal, stdout } = io;
  const lines = createInterface({ input, signal, ...(isTerminal ? { output: stdout } : {}) });
  const answers: object[] = [];
  lines.setPrompt(isTerminal ? "> " : "");
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      answers.push(await interruptible(lines, io, (signal) => ask(line.trim(), signal)));
    }
    // A prompt would open the input again.
    if (io.signal.aborted) break;
    lines.prompt();
  }
  lines.close();
  return answers;
}

// On a terminal Ctrl-C comes to the one who reads lines and not to the process.
async function interruptible<Result>(
  lines: Interface,
  io: CommandIo,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  lines.removeAllListeners("SIGINT").on("SIGINT", interrupt);
  try {
    return await work(AbortSignal.any([io.signal, stop.signal]));
  } finally {
    lines.removeAllListeners("SIGINT").on("SIGINT", () => lines.close());
  }
}
