/** Models that reply with given events, and a server of a protocol's routes over them. */
import type { TestContext } from "node:test";
import type { Serving } from "../../../apps/serve/api/fields/serving.ts";
import { HttpServer, type Route, type ServeOptions } from "../../../apps/serve/http/http-server.ts";
import { Refusal } from "../../../apps/serve/http/refusal.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../../../apps/serve/reply/reply.ts";
import type { SampledToken } from "../../../apps/serve/reply/tokens.ts";

/** What a model replies: events, or what gives them for a request. */
type Script =
  | readonly ReplyEvent[]
  | ((request: ReplyRequest, signal: AbortSignal) => AsyncGenerator<ReplyEvent, void, undefined>);

/** A model that replays, and what it was asked. */
export interface ReplayedModel extends ServedModel {
  readonly asked: ReplyRequest[];
}

/** A model that replies with a script. */
export function replaying(
  script: Script,
  { id = "small", text }: { id?: string; text?: ModelText } = {},
): ReplayedModel {
  const asked: ReplyRequest[] = [];
  return {
    ...{ id, contextTokens: 512, text, asked },
    async *reply(request, signal) {
      asked.push(request);
      yield* typeof script === "function" ? script(request, signal) : script;
    },
  };
}

/** One made-up token that is a text. */
export const tokensOf = (text: string): SampledToken[] => [
  { id: 7, logprob: -0.5, bytes: Buffer.from(text) },
];

/** Beginning and end of a reply, around what is said. */
export function whole(
  said: readonly ReplyEvent[],
  end: Partial<ReplyEvent & { type: "finish" }> = {},
): ReplyEvent[] {
  const finish = { type: "finish", choice: 0, reason: "stop", tokens: [], weightsVersion: 0 } as const;
  return [
    { type: "start", choice: 0, numPromptTokens: 12, numCachedTokens: 8 },
    ...said,
    { ...finish, numTokens: 5, numReasoningTokens: 2, ...end },
  ];
}

/** A piece of text or thought. */
export const say = (text: string, type: "text" | "reasoning" = "text"): ReplyEvent => {
  return { type, choice: 0, text, tokens: tokensOf(text) };
};

/** What routes are given, over models that need no admission. */
export function servingOf(models: readonly ServedModel[]): Serving {
  return {
    limits: { maxBodyBytes: 1 << 20, maxChoices: 8 },
    models: {
      list: () => models,
      find(id) {
        const found = id == null ? models[0] : models.find((model) => model.id === id);
        if (found === undefined) throw new Refusal("model_not_found", `model: no such model: ${id}`);
        return found;
      },
    },
    reply: (call, { model, request }) => model.reply(request, call.signal),
  };
}

const failureOf = (cause: unknown): Refusal =>
  cause instanceof Refusal ? cause : new Refusal("internal", "it failed", { cause });

/** A server of routes that ends with the test. */
export async function servedRoutes(
  t: TestContext,
  routes: readonly Route[],
  options: ServeOptions = {},
): Promise<HttpServer> {
  const service = { routes, timeoutMs: 5000, defaultPort: 0, failureOf };
  const server = await HttpServer.open(service, options);
  t.after(() => server.close({ graceMs: 0 }));
  return server;
}
