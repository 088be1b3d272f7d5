/** `POST /get_reward`: rewards of decoded texts for trainers of the OpenRLHF family. */

import { checkOptions, countKind, type OptionKinds } from "../../lib/base/check-options.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import { breathe } from "../../lib/base/slices/breathe.ts";
import type { Question } from "../../lib/data/question.ts";
import type { Reward } from "../../lib/reward/reward.ts";
import { scoreTrajectory } from "../../lib/reward/score-trajectory.ts";
import { questionFinder, type TextFamily, trajectoryOfText } from "../../lib/reward/text-trajectory.ts";
import { listField } from "./http/body/list-field.ts";
import type { Call } from "./http/call.ts";
import { HttpServer, type Route, type ServeOptions, serveKinds } from "./http/http-server.ts";
import { failureOf, type Issue, Refusal, type RefusalCode } from "./http/refusal.ts";

/** What is served, and where. */
export interface RewardServerOptions extends ServeOptions {
  readonly reward: Reward;
  /** Whose answers are accepted: found by the question that stands in a text. */
  readonly questions: readonly Question[];
  /** Whose tags the texts have. */
  readonly family: TextFamily;
  /** 0 takes a free one. @default 1278 */
  readonly port?: number | undefined;
  /** Bytes of a request. @default 64 MiB */
  readonly maxBodyBytes?: number | undefined;
  /** From the first byte of a request to its answer, milliseconds. @default 360_000 */
  readonly timeoutMs?: number | undefined;
  /** Called for each text that was scored. */
  readonly onScore?:
    | ((scored: { readonly text: string; readonly question: string; readonly reward: number }) => void)
    | undefined;
}

const optionKinds: OptionKinds<RewardServerOptions> = {
  reward: "function",
  questions: "list",
  family: "string",
  ...serveKinds,
  maxBodyBytes: countKind,
  timeoutMs: countKind,
  onScore: "function",
};

/** A text as long as this is no conversation; to look for questions in it would hold up everybody. */
const maxTextChars = 1 << 18;
const shape = lazySchema((z) =>
  z.object({ query: listField(z.string().max(maxTextChars), { max: 65_536 }) }),
);

/**
 * Serves a reward: `{"query": [text, ...]}` gives `{"rewards": [number, ...]}`. A text about an unknown question, and one
 * whose reward fails, refuse the request with their place; the reason of a failure is for `onFault`.
 *
 * @param options - reward, questions, tags, place, key
 * @returns the server, listening
 * @throws ERR_ARGUMENT for an empty key, or none where other machines can ask; ERR_IO when the port cannot be had;
 *   ERR_RANGE for a limit below 1
 * @example
 * const asked = [{ id: "q", question: "capital of Italy?", answers: ["Rome"] }];
 * await using server = await serveRewards({ reward: emReward, questions: asked, family: "rag", port: 0 });
 * const text = "Question: capital of Italy?\nAssistant: <answer> Rome </answer>";
 * const answer = await fetch(`${server.url}/get_reward`, { method: "POST", body: JSON.stringify({ query: [text] }) });
 * assert.deepEqual(await answer.json(), { rewards: [1] });
 */
export async function serveRewards(options: RewardServerOptions): Promise<HttpServer> {
  checkOptions("serveRewards", options, optionKinds, ["reward", "questions", "family"]);
  const health = { status: "healthy", questions: options.questions.length };
  const routes: Route[] = [
    { method: "GET", path: "/health", dialect: "detail", handle: (call) => call.answer(health) },
    { method: "POST", path: "/get_reward", dialect: "detail", handle: rewardRoute(options) },
  ];
  const { timeoutMs = 360_000 } = options;
  const service = { routes, timeoutMs, defaultPort: 1278, failureOf: failureOf("the reward") };
  return HttpServer.open(service, options);
}

function rewardRoute(options: RewardServerOptions): Route["handle"] {
  const { maxBodyBytes = 1 << 26, questions } = options;
  const find = questionFinder(questions);
  return async (call) => {
    const { query } = await call.read(shape(), { maxBodyBytes });
    call.answer({ rewards: await scoreTexts(query, { ...options, find, call }) });
  };
}

interface Scoring extends Pick<RewardServerOptions, "reward" | "family" | "onScore"> {
  readonly find: (text: string) => Question | undefined;
  readonly call: Call;
}

/** Begins with one text after the other, letting other requests have their turn, and waits for all. */
async function scoreTexts(texts: readonly string[], scoring: Scoring): Promise<number[]> {
  const { signal } = scoring.call;
  const rewards: Promise<number>[] = [];
  for (const [place, text] of texts.entries()) {
    const reward = scoreText(text, place, scoring);
    // A failure is noticed below, when all are waited for.
    reward.catch(() => {});
    rewards.push(reward);
    await breathe();
    if (signal.aborted) throw signal.reason;
  }
  try {
    return await Promise.all(rewards);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

async function scoreText(
  text: string,
  place: number,
  { find, family, reward, onScore, call }: Scoring,
): Promise<number> {
  const question = find(text);
  if (question === undefined) {
    throw refuse("invalid_request", place, "expected a text about a known question, got another");
  }
  const trajectory = trajectoryOfText(text, family);
  const scored = await scoreTrajectory({ reward }, { trajectory, question }, { signal: call.signal });
  if (scored.failure !== undefined) {
    throw refuse(
      "reward_failed",
      place,
      "the reward failed",
      new Error(`query[${place}]: ${scored.failure}`),
    );
  }
  onScore?.({ text, question: question.question, reward: scored.reward });
  return scored.reward;
}

function refuse(code: RefusalCode, place: number, msg: string, cause?: Error): Refusal {
  const issue: Issue = { type: "value_error", loc: ["body", "query", place], msg };
  return new Refusal(code, `query[${place}]: ${msg}`, { issues: [issue], cause });
}
