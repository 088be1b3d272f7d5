/** Opens sequences for questions and plays rollouts on them: one question, or a group that shares its prompt. */
import { setMaxListeners } from "node:events";
import { SeekError } from "../../base/errors.ts";
import { mixSeed } from "../../base/seed.ts";
import type { Question } from "../../data/question.ts";
import type { Format } from "../formats/format.ts";
import type { Limits } from "../limits.ts";
import type { OpenSequence, PromptTemplate, Sampling, SequenceSource } from "../seams.ts";
import type { Trajectory } from "../trajectory.ts";
import type { Environment, OpenedPrompt, RolloutSignals } from "../turns/environment.ts";
import { type TurnMarks, turnMarksOf } from "../turns/turn-marks.ts";
import { rollout } from "./rollout.ts";

/** What an agent is made of. */
export interface AgentParts extends Environment {
  readonly engine: SequenceSource;
  /** Turns the user's message into the text the model reads; without one the message stands alone. */
  readonly chatTemplate?: PromptTemplate | undefined;
}

/** Which of all possible runs to make. */
export interface RolloutOptions extends RolloutSignals {
  /** Together with the question's id and the sample's number it fixes the outcome. @default 0 */
  readonly seed?: number;
  /** How tokens are drawn. @default the agent's own way */
  readonly sampling?: Sampling;
}

/** Answers one question. */
export type Agent = (question: Question, options?: RolloutOptions) => Promise<Trajectory>;

/**
 * An agent: think, search, answer over an engine and a search.
 *
 * @param parts - engine, tokenizer, search, format, limits
 * @returns a function that may be called for any number of questions at once
 * @throws whatever the engine throws; a failing search is an observation instead
 * @example
 * const agent = searchAgent({ engine, tokenizer, search, ...ragR1({ queries: "multi" }) });
 * const { answer, rounds, stop } = await agent({ id: "a", question: "who?", answers: [] }, { seed: 1 });
 */
export function searchAgent(parts: AgentParts): Agent {
  return async (question, options) => {
    const [trajectory] = await rolloutGroup(parts, question, { ...options, samples: 1 });
    return trajectory as Trajectory;
  };
}

/**
 * Several independent rollouts of one question, which share the prompt's computation.
 *
 * @param parts - engine, tokenizer, search, format, limits
 * @param question - its id names the trajectories
 * @param options - `samples` is the size of the group, `@default 1`
 * @returns trajectories `<id>#0`, `<id>#1`, ...
 * @throws whatever the engine throws, once all rollouts have ended
 * @example
 * const parts = { engine, tokenizer, search, ...ragR1({ queries: "multi" }) };
 * const group = await rolloutGroup(parts, { id: "a", question: "who?" }, { samples: 2 });
 * assert.deepEqual(group.map(({ id }) => id), ["a#0", "a#1"]);
 */
export async function rolloutGroup(
  parts: AgentParts,
  question: Pick<Question, "id" | "question">,
  {
    samples = 1,
    seed = 0,
    signal,
    sampling = parts.sampling,
    ...hooks
  }: RolloutOptions & { readonly samples?: number } = {},
): Promise<Trajectory[]> {
  const prompt = openPrompt(parts, question);
  const around = { ...parts, sampling, limits: boundLimits(parts), turnMarks: messageMarks(parts) };
  const seeds = Array.from({ length: samples }, (_, sample) => mixSeed(seed, question.id, sample));
  const root = await parts.engine.open(prompt.tokens, { seed: seeds[0] ?? 0 });
  const forks: OpenSequence[] = [];
  try {
    for (const forkSeed of seeds.slice(1)) forks.push(await root.fork({ seed: forkSeed }));
    return await allOrNone(signal, (stop) =>
      [root, ...forks].map((sequence, sample) => {
        const opened = { ...prompt, id: `${question.id}#${sample}`, seed: seeds[sample] ?? 0 };
        return rollout(sequence, opened, around, {
          ...hooks,
          signal: stop,
        });
      }),
    );
  } finally {
    await Promise.all([root, ...forks].map((sequence) => sequence.close()));
  }
}

function openPrompt(parts: AgentParts, { id, question }: Pick<Question, "id" | "question">): OpenedPrompt {
  const text = promptText(parts.format, question, parts.chatTemplate);
  return { id, questionId: id, text, tokens: parts.tokenizer.encode(text, { beginsText: true }) };
}

/**
 * The text a model reads before its first turn.
 *
 * @param format - messages and what begins the model's turn
 * @param question - the question
 * @param chatTemplate - of the model; without one, or for a bare prompt, the messages stand alone
 * @returns the prompt
 * @throws ERR_FORMAT when the template leaves a message out; ERR_ARGUMENT when it refuses one
 */
export function promptText(
  { system, prompt, prefix = "", isBare = false }: Pick<Format, "system" | "prompt" | "prefix" | "isBare">,
  question: string,
  chatTemplate?: PromptTemplate,
): string {
  const user = prompt(question);
  const messages = [
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
    { role: "user", content: user },
  ];
  const rendered = isBare ? undefined : chatTemplate?.render(messages, { addGenerationPrompt: true });
  const lost = messages.find(({ content }) => rendered?.includes(content.trim()) === false);
  if (lost !== undefined) {
    const got = JSON.stringify(rendered?.slice(0, 80));
    throw new SeekError(
      "ERR_FORMAT",
      `chat template: expected the ${lost.role} message in the prompt, got ${got}`,
    );
  }
  return (rendered ?? messages.map(({ content }) => content).join("\n")) + prefix;
}

/** What stands around observations that are messages; what begins the model's turn belongs to it. */
function messageMarks({ format, chatTemplate }: AgentParts): TurnMarks | undefined {
  const { isMessage = false, isBare = false, prefix = "" } = format;
  if (!isMessage || isBare || chatTemplate === undefined) return undefined;
  const { before, after } = turnMarksOf(chatTemplate);
  return { before, after: after + prefix };
}

/** The limits, no longer than a sequence of the engine can be. */
export function boundLimits({ limits, engine }: Pick<AgentParts, "limits" | "engine">): Limits {
  return { ...limits, maxTokens: Math.min(limits.maxTokens, engine.maxTokens ?? limits.maxTokens) };
}

/**
 * Runs rollouts side by side. When one throws, the others are told to stop and are waited for: their sequences are about
 * to close.
 */
export async function allOrNone<T>(
  signal: AbortSignal | undefined,
  start: (stop: AbortSignal) => Promise<T>[],
): Promise<T[]> {
  const failed = new AbortController();
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  // Every rollout of the group listens to it, and more than ten listeners are no leak here.
  setMaxListeners(0, stop);
  const running = start(stop);
  for (const each of running) each.catch(() => failed.abort());
  const settled = await Promise.allSettled(running);
  const failure = settled.find((result) => result.status === "rejected");
  if (failure) throw failure.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<T>).value);
}
