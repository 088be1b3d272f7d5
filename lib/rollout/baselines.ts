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
 * - `ircot` up to five times: a search for the last thought, one more thought, until a thought holds the answer
 */
export type Baseline = "direct" | "cot" | "rag" | "iter-retgen" | "ircot";

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
  ircot: `${withDocuments}Reason step by step, one short sentence a line. ${atOnce.replace("Give", "As soon as you know it, give")} ${example}`,
};

const searches: Readonly<Record<Baseline, number>> = {
  direct: 0,
  cot: 0,
  rag: 1,
  "iter-retgen": 3,
  ircot: 5,
};

const parseAnswer: ParseTurn = (turn) => {
  const block = firstBlock(turn, answerTags);
  if (block === undefined) return { kind: "invalid", reason: "no action" };
  return { kind: "answer", answer: block.content, end: block.end };
};

// A thought without an answer is nothing invalid.
const parseThought: ParseTurn = (turn, options) => {
  const action = parseAnswer(turn, options);
  return action.kind === "invalid" ? { kind: "end" } : action;
};

function formatOf(baseline: Baseline): Format {
  return {
    ...ragFormat("single"),
    prompt: (question) =>
      `Answer the given question. ${wordings[baseline]}\nQuestion: ${asQuestion(question)}\n`,
    turnEnds: baseline === "ircot" ? [answerTags.close, "\n"] : [answerTags.close],
    parse: baseline === "ircot" ? parseThought : parseAnswer,
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
  const nextStep = baseline === "ircot" ? nextThought : nextDraft;
  return async (question, options = {}) => {
    const reads: Read[] = [];
    for (let round = 0; round < searches[baseline]; round++) {
      reads.push(await searchAndRead(whole, { question, round, ...nextStep(question, reads) }, options));
      if (options.signal?.aborted || (baseline === "ircot" && hasAnswer(reads))) break;
    }
    const trajectory = joined(question, reads);
    const isOut = baseline === "ircot" && (trajectory.stop === "invalid" || trajectory.stop === "eos");
    return isOut ? { ...trajectory, stop: "max_turns" } : trajectory;
  };
}

/** What to search for next, and what of before is shown again. */
interface Step {
  readonly query: string;
  /** Documents of earlier searches; new ones stand before them. */
  readonly known: readonly Document[];
  /** What the model goes on from. */
  readonly prefix: string;
}

function nextDraft({ question }: Question, reads: readonly Read[]): Step {
  return { query: `${question} ${saidIn(reads.at(-1)).trim()}`.trim(), known: [], prefix: "" };
}

function nextThought({ question }: Question, reads: readonly Read[]): Step {
  const query = saidIn(reads.at(-1)).trim() || question;
  const prefix = reads.map((read) => `${saidIn(read).trim()}\n`).join("");
  return { query, known: reads.at(-1)?.documents ?? [], prefix };
}

function hasAnswer(reads: readonly Read[]): boolean {
  return reads.at(-1)?.trajectory.answer !== undefined;
}

/** One search and what was made of it. */
interface Read {
  readonly query: string;
  readonly failure: string | undefined;
  /** All that were shown. */
  readonly documents: readonly Document[];
  readonly searchMs: number;
  readonly trajectory: Trajectory;
}

function saidIn(read: Read | undefined): string {
  const said = read?.trajectory.segments.filter(({ kind }) => kind === "policy") ?? [];
  const text = said.map((segment) => segment.text).join("");
  return text.replaceAll(answerTags.open, " ").replaceAll(answerTags.close, " ");
}

async function searchAndRead(
  parts: AgentParts,
  { question, round, query, known, prefix }: Step & { readonly question: Question; readonly round: number },
  { seed = 0, signal, onDocuments }: RolloutOptions,
): Promise<Read> {
  const { engine, search } = parts;
  const limits = boundLimits(parts);
  const format = { ...parts.format, prefix };
  const started = performance.now();
  const outcome = await searchBefore(search, [query], {
    ...{ topK: limits.topK, timeoutMs: limits.searchTimeoutMs },
    ...(signal ? { signal } : {}),
  });
  const searchMs = performance.now() - started;
  const found = "documents" in outcome ? outcome.documents : undefined;
  if (found) onDocuments?.(found);
  const documents = withoutRepeats([...(found?.flat() ?? []), ...known]);
  const isLost = found === undefined && documents.length === 0;
  const shown = isLost ? format.failure : documentsText(query, documents, parts);
  const opening = openingOf({ ...parts, format }, question.question, shown);
  const tokens = Int32Array.from(opening.flatMap((segment) => [...segment.tokens]));
  const text = opening.map((segment) => segment.text).join("");
  const sequence = await engine.open(tokens, { seed: mixSeed(seed, question.id, round) });
  try {
    const prompt = { id: `${question.id}#0`, questionId: question.id, text, tokens };
    const trajectory = await rollout(sequence, prompt, { ...parts, limits }, signal ? { signal } : {});
    const segments = [...opening, ...trajectory.segments.slice(1)];
    const failure = "failure" in outcome ? outcome.failure : undefined;
    return { query, failure, documents, searchMs, trajectory: { ...trajectory, segments } };
  } finally {
    await sequence.close();
  }
}

function withoutRepeats(documents: readonly Document[]): Document[] {
  const byText = new Map(documents.map((each) => [`${each.title}\n${each.text}`, each]));
  return [...byText.values()];
}

function documentsText(
  query: string,
  documents: readonly Document[],
  { tokenizer, limits }: AgentParts,
): string {
  return observationText([query], [documents], "single", (text) => {
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
