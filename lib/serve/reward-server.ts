/** `POST /get_reward`: rewards of decoded texts for trainers of the OpenRLHF family. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { SeekError } from "../base/errors.ts";
import type { Question } from "../data/question.ts";
import type { Reward } from "../reward/reward.ts";
import { scoreTrajectory } from "../reward/score-trajectory.ts";
import { questionFinder, type TextFamily, trajectoryOfText } from "../reward/text-trajectory.ts";
import { type Issue, Refusal, refusalBody, statusOf } from "./http/refusal.ts";
import { readBody } from "./http/request-body.ts";

/** What is served, and where. */
export interface RewardServerOptions {
  readonly reward: Reward;
  /** Whose answers are accepted: found by the question that stands in a text. */
  readonly questions: readonly Question[];
  /** Whose tags the texts have. */
  readonly family: TextFamily;
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** 0 takes a free one. @default 1278 */
  readonly port?: number;
  /** Bytes of a request. @default 64 MiB */
  readonly maxBodyBytes?: number;
  /** Called for each text that was scored. */
  readonly onScore?: (scored: {
    readonly text: string;
    readonly question: string;
    readonly reward: number;
  }) => void;
}

/** A server that is listening. */
export interface RewardServer extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

const kTimeoutMs = 360_000;
const shape = z.object({ query: z.array(z.string()).max(65_536) });

/**
 * Serves a reward: `{"query": [text, ...]}` gives `{"rewards": [number, ...]}`. A text about an unknown question, and one
 * whose reward cannot be told, refuse the request with their place.
 *
 * @param options - reward, questions, tags, place
 * @returns the server, listening
 * @throws ERR_IO when the port cannot be had
 * @example
 * const asked = [{ id: "q", question: "capital of Italy?", answers: ["Rome"] }];
 * await using server = await serveRewards({ reward: emReward, questions: asked, family: "rag", port: 0 });
 * const text = "Question: capital of Italy?\nAssistant: <answer> Rome </answer>";
 * const answer = await fetch(`${server.url}/get_reward`, { method: "POST", body: JSON.stringify({ query: [text] }) });
 * assert.deepEqual(await answer.json(), { rewards: [1] });
 */
export async function serveRewards(options: RewardServerOptions): Promise<RewardServer> {
  const find = questionFinder(options.questions);
  const server = createServer((incoming, outgoing) => {
    handle(incoming, find, options)
      .then((body) => send(outgoing, 200, body))
      .catch((error: unknown) => {
        const cause = { cause: error };
        const refusal =
          error instanceof Refusal ? error : new Refusal("internal", "the reward failed", cause);
        send(outgoing, statusOf(refusal, "detail"), refusalBody(refusal, "detail"));
      });
  });
  const { address, port } = await listen(server, options);
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    await closed;
  };
  return { url: `http://${address}:${port}`, close, [Symbol.asyncDispose]: close };
}

async function handle(
  incoming: IncomingMessage,
  find: (text: string) => Question | undefined,
  options: RewardServerOptions,
): Promise<object> {
  const { method, url = "/" } = incoming;
  if (method === "GET" && url === "/health")
    return { status: "healthy", questions: options.questions.length };
  if (url !== "/get_reward") throw new Refusal("not_found", `${url.slice(0, 100)}: no such path`);
  if (method !== "POST") throw new Refusal("method_not_allowed", `/get_reward: expected POST, got ${method}`);
  const { maxBodyBytes: maxBytes = 1 << 26 } = options;
  const signal = AbortSignal.timeout(kTimeoutMs);
  const { query } = await readBody(incoming, { schema: shape, maxBytes, signal });
  return { rewards: await Promise.all(query.map((text, i) => scoreText(text, i, find, options))) };
}

async function scoreText(
  text: string,
  place: number,
  find: (text: string) => Question | undefined,
  { reward, family, onScore }: RewardServerOptions,
): Promise<number> {
  const question = find(text);
  if (question === undefined) throw refuse(place, "expected a text about a known question, got another");
  const trajectory = trajectoryOfText(text, family);
  const scored = await scoreTrajectory({ reward }, { trajectory, question });
  if (scored.failure !== undefined) throw refuse(place, scored.failure);
  onScore?.({ text, question: question.question, reward: scored.reward });
  return scored.reward;
}

function refuse(place: number, msg: string): Refusal {
  const issue: Issue = { type: "value_error", loc: ["body", "query", place], msg };
  return new Refusal("invalid_request", `query[${place}]: ${msg}`, { issues: [issue] });
}

function send(outgoing: ServerResponse, status: number, body: object): void {
  if (!outgoing.destroyed) {
    outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }
}

function listen(
  server: Server,
  { host = "127.0.0.1", port = 1278 }: RewardServerOptions,
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new SeekError("ERR_IO", `${host}:${port}: cannot be listened on: ${cause.message}`, { cause }));
    });
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}
