/** Anthropic's client, at a server of models. */
import type { TestContext } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { messagesRoutes } from "../../../apps/serve/api/messages/routes.ts";
import type { ServedModel } from "../../../apps/serve/reply/reply.ts";
import { servedRoutes, servingOf } from "./doubles.ts";

/** A client whose server ends with the test. */
export async function clientOf(t: TestContext, ...models: readonly ServedModel[]) {
  const server = await servedRoutes(t, messagesRoutes(servingOf(models)));
  const client = new Anthropic({ apiKey: "any", baseURL: server.url, maxRetries: 0 });
  return { client, server };
}

/** The shortest request. */
export const hello = {
  model: "small",
  max_tokens: 20,
  messages: [{ role: "user", content: "Hello" }],
} satisfies Anthropic.MessageCreateParams;
