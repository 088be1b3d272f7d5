/** Agents: a plain function over sessions, searches and tools becomes one that answers, streams and trains. */
import { setMaxListeners } from "node:events";
import {
  checkOptions,
  countKind,
  type OptionKinds,
  optionsOf,
  shownValue,
  wholeKind,
} from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { mixSeed } from "../../base/random.ts";
import { handledSteps } from "../../base/streamed.ts";
import type { Question } from "../../data/question.ts";
import { type Limits, limitKinds } from "../limits.ts";
import { type OpenSequence, type Sampling, type SequenceSource, samplingKind } from "../seams.ts";
import { type AgentEvent, type EventOptions, eventsOf } from "../session/events.ts";
import { type Outcome, Rollout, type RolloutParts } from "../session/rollout.ts";
import type { Trajectory } from "../trajectory.ts";

/** Which of all possible rollouts to make. */
export interface RolloutOptions extends Pick<EventOptions, "onEvent"> {
  /** Together with the question's id and the sample's number it fixes the outcome. @default 0 */
  readonly seed?: number;
  /** How tokens are drawn. @default the agent's own way */
  readonly sampling?: Sampling;
  /** Ends the rollout with the stop reason `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Of agents with a format: when it fires, the turn after the one under way is the last. A search under way has then failed,
   * and a turn is cut short where the format can announce the last one (`Format.lastTurn`).
   */
  readonly answerNow?: AbortSignal | undefined;
}

const optionKinds = {
  seed: wholeKind,
  sampling: samplingKind,
  signal: "signal",
  answerNow: "signal",
  onEvent: "function",
} as const;

/** What an agent is made of, and a recipe's members, which stand beside where the whole recipe is spread. */
const partKinds: OptionKinds<RolloutParts> & OptionKinds<Record<string, unknown>> = {
  engine: "object",
  tokenizer: "object",
  chatTemplate: "object",
  search: "function",
  tools: "object",
  limits: optionsOf<Partial<Limits>>(limitKinds),
  sampling: samplingKind,
  ...{ format: "object", searchThrough: "function", reward: "function", tokenRewards: "function" },
  ...{ groupReward: "function", algorithm: "object", training: "object" },
};

const outcomeKinds: OptionKinds<Outcome> = {
  answer: "string",
  stop: ["answer", "max_turns", "invalid", "eos", "length", "context", "aborted", "stop"],
  memory: "object",
};

/** Answers one question. */
export type Agent = (question: Question, options?: RolloutOptions) => Promise<Trajectory>;

/** A question as it is asked; without an id it is `question`. */
export type AskedQuestion = Pick<Question, "question"> & Partial<Question>;

/** An agent over a model. It may be asked any number of questions at once. */
export interface PolicyAgent {
  /** Answers one question. */
  (question: AskedQuestion, options?: RolloutOptions): Promise<Trajectory>;
  /** Answers one question, and yields its events as they happen. Leaving the loop aborts the rollout. */
  stream(question: AskedQuestion, options?: RolloutOptions): AsyncGenerator<AgentEvent, void>;
  /**
   * Several independent rollouts of one question, which share the computation of its prompt: trajectories `<id>#0`,
   * `<id>#1`, ... When one throws, the others are aborted and waited for. `samples` is 1 unless given.
   */
  rollouts(
    question: AskedQuestion,
    options?: RolloutOptions & { readonly samples?: number },
  ): Promise<Trajectory[]>;
}

/** Answers a question by what `rollout` offers: with a text, without one, or with how it ended. */
export type AgentFunction = (rollout: Rollout, question: Question) => Promise<string | Outcome | undefined>;

/**
 * An agent from a plain async function. The function opens a session, lets the policy generate, uses whatever tools it
 * likes, appends what came of it, and returns the answer; what was sampled and what was read is recorded for training on
 * the way.
 *
 * @param parts - engine, tokenizer, and what else it needs
 * @param run - answers one question. It may be called for any number of questions at once
 * @returns an agent for `evaluate`, and by `rollouts` for `rl`
 * @throws ERR_ARGUMENT for an unknown part or limit, ERR_RANGE for a limit that is none; from the agent: ERR_ARGUMENT for what
 *   is no question, an unknown option, or a `run` that returns something else; what the engine and `run` throw. A tool or
 *   search that fails is an undefined result instead
 * @example
 * const own = ownAgent({ engine, tokenizer }, async (rollout, { question }) => {
 *   const session = await rollout.open({ prompt: `${question}\nSay the answer in square brackets.\n` });
 *   const { text } = await session.generate({ stop: ["]"], maxTokens: 8 });
 *   return /\[(.*)\]/.exec(text)?.[1];
 * });
 * const { turns } = await own({ question: "who?" }, { seed: 1 });
 * assert.equal(turns, 1);
 */
export function ownAgent(parts: RolloutParts, run: AgentFunction): PolicyAgent {
  checkOptions("agent", parts, partKinds, ["engine", "tokenizer"]);
  const answer = (question: AskedQuestion, options: RolloutOptions = {}): Promise<Trajectory> =>
    rolloutOf(parts, run, { question, options });
  return Object.assign(answer, {
    stream: (question: AskedQuestion, options: RolloutOptions = {}) =>
      handledSteps(streamOf(parts, run, { question, options })),
    rollouts: async (question: AskedQuestion, asked: RolloutOptions & { readonly samples?: number } = {}) => {
      checkOptions("agent", asked, { ...optionKinds, samples: countKind });
      const { samples = 1, ...options } = asked;
      const first = samples > 1 ? new SharedPrompt(parts.engine, samples) : undefined;
      const start = (signal: AbortSignal): Promise<Trajectory>[] =>
        Array.from({ length: samples }, (_, sample) =>
          rolloutOf(parts, run, { question, options: { ...options, signal }, sample, first }),
        );
      return allOrNone(options.signal, start).finally(() => first?.close());
    },
  });
}

async function* streamOf(
  parts: RolloutParts,
  run: AgentFunction,
  asked: Asked,
): AsyncGenerator<AgentEvent, void, undefined> {
  const { options } = asked;
  checkOptions("agent", options, optionKinds);
  yield* eventsOf((hooks) => {
    const onEvent = (event: AgentEvent): void => {
      options.onEvent?.(event);
      hooks.onEvent?.(event);
    };
    return rolloutOf(parts, run, { ...asked, hooks: { ...hooks, onEvent } });
  }, options.signal);
}

interface Asked {
  readonly question: AskedQuestion;
  readonly options: RolloutOptions;
  readonly hooks?: EventOptions & { readonly signal: AbortSignal };
  readonly sample?: number;
  readonly first?: SequenceSource | undefined;
}

async function rolloutOf(parts: RolloutParts, run: AgentFunction, asked: Asked): Promise<Trajectory> {
  const { options, hooks, sample = 0, first } = asked;
  checkOptions("agent", options, optionKinds);
  const question = { id: "question", answers: [], ...checkQuestion(asked.question) };
  const { seed = 0, sampling = parts.sampling, signal, answerNow, onEvent } = options;
  const rollout = new Rollout(
    { ...parts, sampling },
    {
      question,
      sample,
      first,
      seed: mixSeed(seed, question.id, sample),
      signal,
      answerNow,
      onEvent,
      ...hooks,
    },
  );
  try {
    const outcome = await run(rollout, question);
    return rollout.toTrajectory(checkOutcome(outcome));
  } finally {
    await rollout.close();
  }
}

function checkOutcome(outcome: string | Outcome | undefined): Outcome {
  if (outcome === undefined || typeof outcome === "string") return { answer: outcome };
  return checkOptions("agent: what its function returns", outcome, outcomeKinds);
}

/** Rows of data sets may hold more than a question does. */
function checkQuestion(asked: AskedQuestion): AskedQuestion {
  if (typeof asked === "object" && typeof asked?.question === "string") return asked;
  throw new SeekError("ERR_ARGUMENT", `agent: expected {question: "..."}, got ${shownValue(asked)}`);
}

/** Opens the first sessions of a group as forks of one sequence, so that a common prompt is computed once. */
class SharedPrompt implements SequenceSource {
  readonly #source: SequenceSource;
  readonly #samples: number;
  readonly #roots = new Map<string, { readonly root: Promise<OpenSequence>; numForks: number }>();

  constructor(source: SequenceSource, samples: number) {
    this.#source = source;
    this.#samples = samples;
  }

  async open(ids: Int32Array, options: { readonly seed: number }): Promise<OpenSequence> {
    const key = ids.join();
    const shared = this.#roots.get(key) ?? {
      root: (async () => this.#source.open(ids, options))(),
      numForks: 0,
    };
    this.#roots.set(key, shared);
    const root = await shared.root;
    const fork = await root.fork(options);
    shared.numForks += 1;
    if (shared.numForks === this.#samples) await root.close();
    return fork;
  }

  /** Gives back what was opened; a root that could not be opened has told whoever asked for it. */
  async close(): Promise<void> {
    const roots = await Promise.allSettled([...this.#roots.values()].map(({ root }) => root));
    await Promise.all(roots.map(async (root) => root.status === "fulfilled" && root.value.close()));
  }
}

/** Runs rollouts side by side. When one throws, the others are aborted and waited for. */
async function allOrNone<T>(
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
