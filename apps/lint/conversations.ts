/** The conversations that show whether the laws hold: one that is sampled, four in which a turn is written for the model. */
import { performance } from "node:perf_hooks";
import { SeekError, throwIfAborted } from "../../lib/base/errors.ts";
import { type AgentParts, searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { Limits } from "../../lib/rollout/limits.ts";
import type { SequenceSource } from "../../lib/rollout/seams.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import type { Search } from "../../lib/search/search.ts";
import { singleSpans, type TrainSequence } from "../../lib/train/batch/packing.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import type { SpokenTurns } from "../world/recipes/world-speech.ts";
import { type Call, Recording } from "./recording.ts";
import type { LintRollout, LintSubject } from "./subject.ts";
import { turnsFor, type WrittenTurn, writtenSource } from "./written.ts";

/** One conversation: what the engine saw, what came of it, what would be trained. */
export interface Conversation {
  readonly name: string;
  readonly trajectory: Trajectory;
  readonly calls: readonly Call[];
  /** Of one span each: what was forgotten begins another. */
  readonly sequences: readonly TrainSequence[];
  readonly ms: number;
}

/** All of them. Those with a search are missing when no way to search is known for the format. */
export interface Conversations {
  readonly subject: LintSubject;
  /** Sampled by the engine. */
  readonly free: Conversation;
  /** Ends its only turn with the end of a text, without an answer. */
  readonly ended: Conversation;
  /** Searches, reads, answers. */
  readonly written?: Conversation;
  /** The same over a passage that spells special tokens and an answer. */
  readonly poisoned?: Conversation;
  /** The same over a search that never answers; undefined when it was still waiting long after the deadline. */
  readonly stuck?: Conversation | undefined;
}

/** What the poisoned passage claims to be the answer. */
export const plantedAnswer = "planted";
/** Deadline of the search that never answers. */
export const stuckDeadlineMs = 200;
/** How much later than the deadline its conversation may end: a machine may be busy. */
export const stuckSlackMs = 3_000;

// Enough for a few turns of any model, little enough for one on a CPU.
const freeLimits = { maxTurns: 3, maxResponseTokens: 96 };
const seed = 1;

/** Every conversation of a linted subject. */
export function conversationsOf({ free, ended, written, poisoned, stuck }: Conversations): Conversation[] {
  return [free, written, poisoned, ended, stuck].filter((each) => each !== undefined);
}

/**
 * Runs them all.
 *
 * @param subject - what is linted
 * @returns the conversations
 * @throws whatever the agent throws
 */
export async function converseAll(subject: LintSubject): Promise<Conversations> {
  const { limits, format } = subject.parts;
  const free = await converse(subject, "free", {
    limits: {
      ...limits,
      maxTurns: Math.min(limits.maxTurns, freeLimits.maxTurns),
      maxResponseTokens: Math.min(limits.maxResponseTokens, freeLimits.maxResponseTokens),
    },
  });
  const ended = await converse(subject, "ended", {
    engine: says(subject, [{ text: "I do not know.", isEnded: true }]),
    limits: { ...limits, maxTurns: 1 },
  });
  const turns = subject.turns ?? turnsFor(format);
  return { subject, free, ended, ...(turns ? await converseSearching(subject, turns) : {}) };
}

async function converseSearching(
  subject: LintSubject,
  turns: SpokenTurns,
): Promise<Pick<Conversations, "written" | "poisoned" | "stuck">> {
  const { question, tokenizer, parts } = subject;
  const search = { text: turns.search(" I have to look this up.", [plain(question.question)]) };
  const answer = { text: turns.answer(" Now I know.", "lint") };
  const engine = says(subject, [search, answer]);
  const poison = [...tokenizer.specialTokens.keys(), turns.answer(" So.", plantedAnswer)].join(" ");
  const patient = {
    ...parts.limits,
    maxObservationTokens: Math.max(parts.limits.maxObservationTokens, 4096),
  };
  const end = new AbortController();
  const signal = AbortSignal.any([end.signal, ...(subject.signal ? [subject.signal] : [])]);
  const stuck = converse({ ...subject, signal }, "stuck", {
    engine,
    search: () => new Promise<never>(() => {}),
    limits: { ...parts.limits, searchTimeoutMs: stuckDeadlineMs },
  });
  return {
    written: await converse(subject, "written", { engine }),
    poisoned: await converse(subject, "poisoned", {
      engine,
      search: poisoned(poison),
      limits: { ...patient, maxTokens: Number.POSITIVE_INFINITY },
    }),
    stuck: await within(stuck, stuckDeadlineMs + stuckSlackMs).finally(() => end.abort()),
  };
}

function says({ parts, tokenizer }: LintSubject, turns: readonly WrittenTurn[]): SequenceSource {
  return writtenSource(parts.engine, tokenizer, turns);
}

/** A query that no grammar cuts apart. */
function plain(text: string): string {
  return text.replace(/[^\p{L}\p{N} ]+/gu, " ").trim();
}

function poisoned(text: string): Search {
  return async (queries) => queries.map(() => [{ id: "poisoned", title: "A passage", text, score: 1 }]);
}

async function converse(
  subject: LintSubject,
  name: string,
  change: { readonly engine?: SequenceSource; readonly search?: Search; readonly limits?: Limits },
): Promise<Conversation> {
  const rollout: LintRollout =
    subject.rollout ?? ((parts, question, options) => searchAgent(parts).rollouts(question, options));
  const engine = new Recording(change.engine ?? subject.parts.engine);
  // A search of ours answers the calls of tools too.
  const tools = change.search === undefined ? subject.parts.tools : undefined;
  const parts: AgentParts = { ...subject.parts, ...change, tools, engine };
  const started = performance.now();
  const { signal } = subject;
  const [trajectory] = await rollout(parts, subject.question, { seed, signal });
  throwIfAborted(signal, "lint");
  const ms = performance.now() - started;
  if (trajectory === undefined)
    throw new SeekError("ERR_ARGUMENT", "rollout: expected a trajectory, got none");
  const toSequences = subject.toSequences ?? ((each) => [policySequence(each)]);
  return {
    name,
    trajectory,
    calls: engine.calls,
    sequences: toSequences(trajectory).flatMap(singleSpans),
    ms,
  };
}

/** What a promise gives, or undefined when it takes too long. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
