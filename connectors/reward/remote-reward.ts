/** Rewards from a model behind a server: a neural reward model, or any other scorer of texts. */
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import type { Reward } from "../../lib/reward/reward.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { Batcher } from "../../lib/search/batching/batcher.ts";
import { Endpoint, httpUrl } from "../remote/endpoint.ts";
import { Fault } from "../remote/fault.ts";
import { type TransportOptions, transportKind } from "../remote/guard.ts";
import { bearer, type KeyOptions, keyKinds, optionalKey } from "../remote/secret.ts";

/** Which server, and how it is asked. */
export interface RemoteRewardOptions extends KeyOptions {
  /** `http://host:port`, to which `/get_reward` is added, or the whole address of the route. */
  readonly url: string;
  /** Texts of one request. @default 64 */
  readonly maxTexts?: number;
  readonly transport?: TransportOptions;
}

const optionKinds: OptionKinds<RemoteRewardOptions> = {
  url: "string",
  maxTexts: "number",
  transport: transportKind,
  ...keyKinds,
};

const shape = lazySchema((z) => z.object({ rewards: z.array(z.number()) }));

/**
 * The reward that a server gives a conversation: it is sent `{"query": [prompt and response, ...]}`, as OpenRLHF's and
 * R1-Searcher's trainers send it, and answers `{"rewards": [number, ...]}`. The trajectories of a step are gathered into
 * few requests, equal texts are asked once.
 *
 * @param options - address, key, transport
 * @returns a reward; it throws ERR_REMOTE where the server fails, which leaves the trajectory out of the step
 * @throws ERR_ARGUMENT for an unknown key, when the address is not http(s) or the key's variable not set; ERR_RANGE
 * @example
 * const asked = [{ id: "q", question: "capital of Italy?", answers: ["Rome"] }];
 * await using server = await serveRewards({ reward: emReward, questions: asked, family: "rag", port: 0 });
 * const said = "Question: capital of Italy?\nAssistant: <answer> Rome </answer>";
 * const conversation = { ...trajectory, segments: [{ kind: "policy", text: said, tokens: new Int32Array() }] };
 * assert.equal(await remoteReward({ url: server.url })(conversation, asked[0]), 1);
 */
export function remoteReward(options: RemoteRewardOptions): Reward {
  checkOptions("remoteReward", options, optionKinds, ["url"]);
  const { url, maxTexts = 64, transport, ...key } = options;
  const endpoint = new Endpoint(httpUrl(url, "/get_reward"), bearer(optionalKey(key)), transport);
  const ask = async (texts: readonly string[], _: number, signal: AbortSignal): Promise<number[]> => {
    const { rewards } = await endpoint.call({ body: { query: texts }, expect: shape(), signal });
    if (rewards.length === texts.length) return rewards;
    throw new Fault(`${endpoint.name}: expected ${texts.length} rewards, got ${rewards.length}`);
  };
  const batcher = new Batcher<number>(ask, { maxBatch: maxTexts, aloneAfterMs: 0 }, () => 8);
  return (trajectory, _, { signal } = {}) => batcher.find(textOf(trajectory), 0, signal);
}

function textOf({ segments }: Trajectory): string {
  return segments.map(({ text }) => text).join("");
}
