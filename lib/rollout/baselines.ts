/** Plain ways to answer, to compare agents with: from memory, by a chain of thought, by searching before reading. */
import { mixSeed } from "../base/seed.ts";
import type { Question } from "../data/question.ts";
import { type Document, observationText } from "../text/observation.ts";
import {
  type Agent,
  type AgentParts,
  boundLimits,
  promptText,
  type RolloutOptions,
  searchAgent,
} from "./agent.ts";
import { firstBlock, tagsOf } from "./blocks.ts";
import { asQuestion, type Format, ragFormat } from "./format.ts";
import type { ParseTurn } from "./grammar.ts";
import { rollout } from "./rollout.ts";
import { searchBefore } from "./search-before.ts";
import type { Segment, Trajectory } from "./trajectory.ts";

/**
 * - `direct` the answer at once, without a search
 * - `cot` reasoning, then the answer, without a search
 * - `rag` one search for the question, then the answer
 * - `iter-retgen` three times over: a search for the question and what was said before, reasoning, an answer
 */
export type Baseline = "direct" | "cot" | "rag" | "iter-retgen";

/** What a baseline needs; limits of turns do not apply to it. */
export type BaselineParts = Omit<AgentParts, "format">;

// Stands for the documents until the chat template has been applied; of Unicode's private use.
const documentsHere = "\u{F5EE}";
const answerTags = tagsOf("answer");
const atOnce = "Give the answer alone inside <answer> and </answer>, without explanation.";
const reasoned = `Reason step by step first. ${atOnce.replace("Give", "Then give")}`;
const example = "For example, <answer> Beijing </answer>.";
const withDocuments = `These documents were found for it; some may be of no use.\n${documentsHere}\n`;

const wordings: Readonly<Record<Baseline, string>> = {
  direct: `${atOnce} ${example}`,
  cot: `${reasoned} ${example}`,
  rag: `${withDocuments}${atOnce} ${example}`,
  "iter-retgen": `${withDocuments}${reasoned} ${example}`,
};

const searches: Readonly<Record<Baseline, number>> = { direct: 0, cot: 0, rag: 1, "iter-retgen": 3 };

const parseAnswer: ParseTurn = (turn) => {
  const block = firstBlock(turn, answerTags);
  if (block === undefined) return { kind: "invalid", reason: "no action" };
  return { kind: "answer", answer: block.content, end: block.end };
};

function formatOf(baseline: Baseline): Format {
  return {
    ...ragFormat("single"),
    prompt: (question) =>
      `Answer the given question. ${wordings[baseline]}\nQuestion: ${asQuestion(question)}\n`,
    turnEnds: [answerTags.close],
    parse: parseAnswer,
  };
}

/** Whether a baseline searches at all. */
export function searchesFor(baseline: Baseline): boolean {
  return searches[baseline] > 0;
}

/**
 * An agent that answers in a plain way, over the same engine and search as others.
 *
 * @param parts - engine, tokenizer, search, limits
 * @param baseline - which way
 * @returns an agent; what it finds stands in its trajectory as observations
 * @example
 * const { limits, sampling } = ragR1({ queries: "single" });
 * const agent = baselineAgent({ engine, tokenizer, search, limits, sampling }, "rag");
 * const { rounds } = await agent({ id: "a", question: "who?", answers: [] });
 * assert.equal(rounds, 1);
 */
export function baselineAgent(parts: BaselineParts, baseline: Baseline): Agent {
  const limits = { ...parts.limits, maxTurns: 1 };
  const whole = { ...parts, limits, format: formatOf(baseline) };
  if (!searchesFor(baseline)) return searchAgent(whole);
  return async (question, options = {}) => {
    const reads: Read[] = [];
    for (let round = 0; round < searches[baseline]; round++) {
      reads.push(await searchAndRead(whole, { question, round, said: textOf(reads.at(-1)) }, options));
      if (options.signal?.aborted) break;
    }
    return joined(question, reads);
  };
}

/** One search and what was made of it. */
interface Read {
  readonly query: string;
  readonly failure: string | undefined;
  readonly searchMs: number;
  readonly trajectory: Trajectory;
}

function textOf(read: Read | undefined): string {
  const said = read?.trajectory.segments.filter(({ kind }) => kind === "policy") ?? [];
  const text = said.map((segment) => segment.text).join("");
  return text.replaceAll(answerTags.open, " ").replaceAll(answerTags.close, " ").trim();
}

async function searchAndRead(
  parts: AgentParts,
  { question, round, said }: { readonly question: Question; readonly round: number; readonly said: string },
  { seed = 0, signal, onDocuments }: RolloutOptions,
): Promise<Read> {
  const { engine, search, format } = parts;
  const limits = boundLimits(parts);
  const query = `${question.question} ${said}`.trim();
  const started = performance.now();
  const outcome = await searchBefore(search, [query], {
    ...{ topK: limits.topK, timeoutMs: limits.searchTimeoutMs },
    ...(signal ? { signal } : {}),
  });
  const searchMs = performance.now() - started;
  if ("documents" in outcome) onDocuments?.(outcome.documents);
  const shown = "failure" in outcome ? format.failure : documentsText(query, outcome.documents, parts);
  const opening = openingOf(parts, question.question, shown);
  const tokens = Int32Array.from(opening.flatMap((segment) => [...segment.tokens]));
  const text = opening.map((segment) => segment.text).join("");
  const sequence = await engine.open(tokens, { seed: mixSeed(seed, question.id, round) });
  try {
    const prompt = { id: `${question.id}#0`, questionId: question.id, text, tokens };
    const trajectory = await rollout(sequence, prompt, { ...parts, limits }, signal ? { signal } : {});
    const segments = [...opening, ...trajectory.segments.slice(1)];
    const failure = "failure" in outcome ? outcome.failure : undefined;
    return { query, failure, searchMs, trajectory: { ...trajectory, segments } };
  } finally {
    await sequence.close();
  }
}

function documentsText(
  query: string,
  documents: readonly (readonly Document[])[],
  { tokenizer, limits }: AgentParts,
): string {
  return observationText([query], documents, "single", (text) => {
    const ids = tokenizer.encode(text, { parseSpecialTokens: false });
    if (ids.length <= limits.maxObservationTokens) return text;
    return tokenizer.decode(ids.subarray(0, limits.maxObservationTokens)).replace(/\uFFFD+$/, "");
  });
}

// Documents are encoded by themselves: a spelled-out end-of-turn mark in them must stay text.
function openingOf(
  { tokenizer, format, chatTemplate }: AgentParts,
  question: string,
  shown: string,
): Segment[] {
  const text = promptText(format, question, chatTemplate);
  const at = text.indexOf(documentsHere);
  const prompt = (part: string): Segment => ({ kind: "prompt", tokens: tokenizer.encode(part), text: part });
  const documents: Segment = {
    kind: "observation",
    tokens: tokenizer.encode(shown, { parseSpecialTokens: false }),
    text: shown,
  };
  return [prompt(text.slice(0, at)), documents, prompt(text.slice(at + documentsHere.length))];
}

function joined({ id }: Question, reads: readonly Read[]): Trajectory {
  const trajectories = reads.map(({ trajectory }) => trajectory);
  const last = trajectories.at(-1) as Trajectory;
  const sum = (value: (each: Trajectory) => number): number =>
    trajectories.reduce((total, each) => total + value(each), 0);
  const searchMs = reads.reduce((total, each) => total + each.searchMs, 0);
  const reasons = reads.map(({ failure }) => failure).filter((failure) => failure !== undefined);
  return {
    ...{ id: `${id}#0`, questionId: id },
    segments: trajectories.flatMap(({ segments }) => segments),
    turns: sum(({ turns }) => turns),
    stop: last.stop,
    ...(last.answer === undefined ? {} : { answer: last.answer }),
    rounds: reads.length,
    queries: reads.map(({ query }) => [query]),
    invalidActions: sum(({ invalidActions }) => invalidActions),
    failures: reasons.length,
    ...(reasons.length > 0 ? { failureReasons: reasons } : {}),
    timings: {
      generateMs: sum(({ timings }) => timings.generateMs),
      searchMs,
      totalMs: searchMs + sum(({ timings }) => timings.totalMs),
    },
    weightsVersion: trajectories[0]?.weightsVersion ?? 0,
  };
}
