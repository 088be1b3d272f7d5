/** Options of commands that may ask a language model to judge answers. */
import { z } from "zod";
import { Chat } from "../../../connectors/remote/chat.ts";
import { cockatiel } from "../../../connectors/remote/guard.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { readText } from "../../../lib/base/files/regular-file.ts";
import { mapConcurrently } from "../../../lib/base/map-concurrently.ts";
import type { Question } from "../../../lib/data/question.ts";
import type { ScoredAnswer } from "../../../lib/evaluate/score-answers.ts";
import { judgeAnswer, type Verdict } from "../../../lib/reward/judge.ts";
import { inGroup } from "../fields.ts";

/** The judge's address and limits. */
export const judgeChoice = z.strictObject({
  url: z.string().describe("OpenAI-compatible server, such as http://host/v1."),
  model: z.string().describe("Its model."),
  keyEnv: z.string().optional().describe("Environment variable with its key."),
  cache: z.string().optional().describe("File of its replies; what stands there is not asked again."),
  prompt: z.string().optional().describe("File of instructions with {question}, {answers}, {prediction}."),
  concurrency: z.int().min(1).default(16).describe("Requests under way at once."),
});

/** A judge's address and limits, with every default. */
type JudgeChoice = z.output<typeof judgeChoice>;

/** What of a judge decides what it says, for a file of results that is gone on with. */
export function judgeSettings(judge: JudgeChoice | undefined): object | undefined {
  return judge && { model: judge.model, prompt: judge.prompt };
}

/** A language model that judges answers. */
export const judgeOptions = inGroup("Judge", {
  judge: judgeChoice
    .optional()
    .meta({ head: "url", description: "A language model on a server that judges answers." }),
});

/** The judge's share of right answers, and how many it could judge. */
interface JudgeMeans {
  /** Among the judged. */
  readonly judge: number;
  readonly judged: number;
  readonly judgeFailures: number;
}

/** A judge at work, so many requests at once as it may have. */
export interface OpenedJudge extends AsyncDisposable {
  /** Waits for a turn, then uses the judge. */
  readonly ask: <Value>(use: (chat: Chat) => Promise<Value>) => Promise<Value>;
  /** Of its own, if it has any. */
  readonly prompt: string | undefined;
  readonly judge: (
    question: Pick<Question, "question" | "answers">,
    answer: string,
    signal?: AbortSignal,
  ) => Promise<Verdict>;
}

/**
 * Opens a judge.
 *
 * @returns undefined when none is named
 * @throws ERR_IO, ERR_FORMAT, ERR_ARGUMENT
 */
export async function openJudge(choice: JudgeChoice | undefined): Promise<OpenedJudge | undefined> {
  if (choice === undefined) return undefined;
  const { url, model, keyEnv, cache, concurrency } = choice;
  const prompt = choice.prompt === undefined ? undefined : await readPrompt(choice.prompt);
  const chat = await Chat.open({
    ...{ url, model, cache },
    apiKeyEnv: keyEnv,
    transport: { maxConcurrent: concurrency },
  });
  // Waiting for a turn must not count against a request's deadline, as it would in the transport's own queue.
  const turns = cockatiel().bulkhead(concurrency, Number.POSITIVE_INFINITY);
  const ask: OpenedJudge["ask"] = (use) => turns.execute(() => use(chat));
  return {
    ...{ ask, prompt },
    judge: (question, answer, signal) => ask((one) => judgeAnswer(one, question, answer, { prompt, signal })),
    [Symbol.asyncDispose]: () => chat.close(),
  };
}

/**
 * Lets a judge judge answers; one that it cannot judge is left out of its mean and counted.
 *
 * @param scored - questions, accepted answers, predictions
 * @param choice - the judge
 * @param io - `signal` ends it, `onVerdict` gets each
 * @returns the verdicts in order and their means; undefined when no judge was named
 * @throws as `openJudge`; ERR_REMOTE when no answer could be judged; ERR_ABORTED
 */
export async function judgeAll(
  scored: readonly ScoredAnswer[],
  choice: JudgeChoice | undefined,
  { signal, onVerdict }: { readonly signal: AbortSignal; readonly onVerdict?: (done: number) => void },
): Promise<{ readonly verdicts: readonly Verdict[]; readonly means: JudgeMeans } | undefined> {
  await using opened = await openJudge(choice);
  if (opened === undefined || choice === undefined) return undefined;
  let done = 0;
  const verdicts = await mapConcurrently(scored, choice.concurrency, async (answer) => {
    const verdict = await opened.judge(answer, answer.prediction, signal);
    done += 1;
    onVerdict?.(done);
    return verdict;
  });
  const means = meansOf(verdicts);
  const failure = verdicts.find((verdict) => "failure" in verdict);
  if (failure !== undefined && means.judged === 0) {
    throw new SeekError("ERR_REMOTE", `no answer could be judged; the first: ${failure.failure}`);
  }
  return { verdicts, means };
}

function meansOf(verdicts: readonly Verdict[]): JudgeMeans {
  const judged = verdicts.filter((verdict) => !("failure" in verdict));
  const right = judged.filter((verdict) => "isRight" in verdict && verdict.isRight).length;
  const judge = judged.length === 0 ? 0 : right / judged.length;
  return { judge, judged: judged.length, judgeFailures: verdicts.length - judged.length };
}

/**
 * Instructions for a judge from a file.
 *
 * @throws ERR_IO; ERR_FORMAT when one of the names does not stand in it
 */
export async function readPrompt(
  path: string,
  names: readonly string[] = ["{question}", "{prediction}"],
): Promise<string> {
  const text = await readText(path);
  for (const name of names) {
    if (!text.includes(name)) throw new SeekError("ERR_FORMAT", `${path}: expected ${name}, got none`);
  }
  return text;
}
