/** A language model as judge: whether an answer means the same as an accepted one, whether what was found is to the point. */
import { checkOptions } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import type { Question } from "../data/question.ts";
import { foundIn, type Spoken } from "./reading.ts";
import type { Reward } from "./reward.ts";

/** What is asked: one message in, one text out, as `Chat` does it. */
export interface JudgeModel {
  ask(
    content: string,
    options?: { readonly signal?: AbortSignal | undefined; readonly check?: (reply: string) => void },
  ): Promise<string>;
}

/** What the judge found, or why it found nothing. */
export type Verdict =
  | { readonly isRight: boolean; readonly rationale: string }
  | { readonly failure: string };

/** How the judge is asked. */
export interface JudgeOptions {
  /** A text with `{question}`, `{answers}` and `{prediction}`; the reply's last JSON object or first word decides. @default ours */
  readonly prompt?: string;
  /** A reply without a judgement is asked for again this often. @default 2 */
  readonly retries?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The judge's instructions unless others are given. */
const judgePrompt = `\
You grade answers to questions. Decide whether the predicted answer means the same as at least one of the accepted \
answers. Other spellings, synonyms, abbreviations and further correct detail are fine; another fact, a contradiction or \
no answer is not.

Question: {question}
Accepted answers: {answers}
Predicted answer: {prediction}

Give your reasons first, then your judgement, as one JSON object and nothing else:
{"rationale": "...", "judgement": "correct" or "incorrect"}`;

/**
 * Asks a judge about one answer. A judge that cannot be reached, or that gives no judgement however often it is asked, is
 * a failure and no verdict: leave the answer out and count it.
 *
 * @param chat - the judge
 * @param question - its text and accepted answers
 * @param prediction - what was answered
 * @param options - instructions and patience
 * @returns the verdict, or the failure's reason
 * @throws ERR_ABORTED when the signal fires
 */
export async function judgeAnswer(
  chat: JudgeModel,
  question: Pick<Question, "question" | "answers">,
  prediction: string,
  { prompt = judgePrompt, retries = 2, signal }: JudgeOptions = {},
): Promise<Verdict> {
  const content = fill(prompt, {
    question: question.question,
    answers: JSON.stringify(question.answers),
    prediction,
  });
  const asked = await askUntil(chat, content, parseVerdict, { retries, signal });
  return "failure" in asked ? asked : asked.value;
}

type Asked<Value> = { readonly value: Value } | { readonly failure: string };

async function askUntil<Value>(
  chat: JudgeModel,
  content: string,
  parse: (reply: string) => Value | undefined,
  { retries, signal }: { readonly retries: number; readonly signal: AbortSignal | undefined },
): Promise<Asked<Value>> {
  const check = (reply: string): void => {
    if (parse(reply) === undefined)
      throw new SeekError("ERR_FORMAT", `no judgement in ${JSON.stringify(reply.slice(0, 200))}`);
  };
  for (let left = retries; ; left -= 1) {
    try {
      const value = parse(await chat.ask(content, { signal, check }));
      if (value !== undefined) return { value };
    } catch (error) {
      if (!(error instanceof SeekError) || error.code === "ERR_ABORTED" || error.code === "ERR_IO")
        throw error;
      // The transport has retried what a retry may mend.
      if (error.code !== "ERR_FORMAT" || left === 0) return { failure: error.message };
    }
  }
}

function fill(prompt: string, values: Readonly<Record<string, string>>): string {
  return prompt.replace(
    /\{(question|answers|prediction|context)\}/g,
    (_, name: string) => values[name] ?? "",
  );
}

/** A JSON object with a judgement, or a reply that begins with a plain word. */
function parseVerdict(reply: string): Extract<Verdict, { isRight: boolean }> | undefined {
  const said = concluded(reply);
  const json = lastObject(said);
  const judgement = String(json?.judgement ?? /^\W*(\w+)/.exec(said)?.[1] ?? "").toLowerCase();
  const isRight = ["correct", "yes", "true"].includes(judgement);
  if (!isRight && !["incorrect", "no", "false"].includes(judgement)) return undefined;
  return { isRight, rationale: typeof json?.rationale === "string" ? json.rationale : said.trim() };
}

/** What a reasoning model says once it has thought, where its server leaves the thoughts in the reply. */
function concluded(reply: string): string {
  const end = reply.lastIndexOf(endOfThought);
  return end < 0 ? reply : reply.slice(end + endOfThought.length);
}

const endOfThought = "</think>";

/** The object that the last brace closes. */
function lastObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const end = text.lastIndexOf("}");
  let start = end;
  for (let left = mostBraces; left > 0 && start > 0; left -= 1) {
    start = text.lastIndexOf("{", start - 1);
    if (start < 0) return undefined;
    try {
      return JSON.parse(text.slice(start, end + 1)) as Record<string, unknown>;
    } catch {
      // A brace inside of the object, or of what stands before it.
    }
  }
  return undefined;
}

/** Each costs a look at the rest of the reply. */
const mostBraces = 64;

/**
 * Points for an answer that a judge finds right, none for another, an empty one or none.
 *
 * @param chat - the judge
 * @param judging - `points` for a right answer, `@default` 1; instructions
 * @returns a reward; it throws ERR_REMOTE where the judge fails, which leaves the trajectory out of the step
 * @example
 * await using chat = await Chat.open({ url: "http://127.0.0.1:9/v1", model: "judge" });
 * const reward = judgeReward(chat, { points: 3 });
 */
export function judgeReward(
  chat: JudgeModel,
  judging: Omit<JudgeOptions, "signal"> & { readonly points?: number } = {},
): (...args: Parameters<Reward>) => Promise<number> {
  checkOptions("judgeReward", judging, { points: "number", prompt: "string", retries: "number" });
  const { points = 1, ...options } = judging;
  return async (trajectory, question, { signal } = {}) => {
    // A judge that is asked about nothing may call it right.
    if (trajectory.answer === undefined || trajectory.answer.trim() === "") return 0;
    const verdict = await judgeAnswer(chat, question, trajectory.answer, { ...options, signal });
    if ("failure" in verdict) throw new SeekError("ERR_REMOTE", verdict.failure);
    return verdict.isRight ? points : 0;
  };
}

const relevancePrompts = [
  `\
Say how much of what one needs to answer the question stands in the context: 0 nothing, 1 a part, 2 all of it. Use no \
knowledge of your own. Reply with the number alone.

Question: {question}
Context: {context}`,
  `\
You rate search results. Is the context to the point of the question? 2: it answers the question. 1: it is about the \
question's subject but leaves something open. 0: it does not help. Reply with 0, 1 or 2 and nothing else.

Question: {question}
Context: {context}`,
];

/**
 * RAGAS's context relevance, as Agentic-RAG-R1 rewards it: two ratings of 0 to 2 of everything that was found, their mean
 * on a scale from 0 to 1. The original rates the first observation only. Without an observation it is 0.
 *
 * @param chat - the judge
 * @param options - `points` for full relevance, `@default` 2; `prompts` with `{question}` and `{context}`, each asked for
 *   a number from 0 to 2, `@default` two of ours
 * @returns a reward; it throws ERR_REMOTE where the judge gives neither rating
 * @example
 * await using chat = await Chat.open({ url: "http://127.0.0.1:9/v1", model: "judge" });
 * const reward = relevanceReward(chat, { points: 1 });
 */
export function relevanceReward(
  chat: JudgeModel,
  options: Pick<JudgeOptions, "retries"> & {
    readonly points?: number;
    readonly prompts?: readonly string[];
  } = {},
): (...args: Parameters<Reward>) => Promise<number> {
  checkOptions("relevanceReward", options, { points: "number", prompts: "list", retries: "number" });
  const { points = 2, prompts = relevancePrompts, retries = 2 } = options;
  return async (trajectory, question, { signal } = {}) => {
    const context = foundText(trajectory);
    if (context === "") return 0;
    const asked = await Promise.all(
      prompts.map((prompt) => {
        const content = fill(prompt, { question: question.question, context });
        return askUntil(chat, content, parseRating, { retries, signal });
      }),
    );
    const ratings = asked.flatMap((one) => ("value" in one ? [one.value] : []));
    const failure = asked.find((one) => "failure" in one);
    // As in RAGAS one rating is enough.
    if (ratings.length === 0) throw new SeekError("ERR_REMOTE", failure?.failure ?? "prompts: expected one");
    return (points * ratings.reduce((sum, rating) => sum + rating, 0)) / (2 * ratings.length);
  };
}

function foundText({ segments }: Spoken): string {
  const observations = segments.filter(({ kind }) => kind === "observation");
  return observations.map(({ text }) => foundIn(text).trim()).join("\n");
}

function parseRating(reply: string): number | undefined {
  const rating = /^\W*([012])\b/.exec(concluded(reply))?.[1];
  return rating === undefined ? undefined : Number(rating);
}
