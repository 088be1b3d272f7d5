/** `POST /v1/responses/compact`: a conversation made short by the model that had it. */
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { Message } from "../../../../lib/text/templates/chat-template.ts";
import type { Route } from "../../http/http-server.ts";
import { refused } from "../../http/refusal.ts";
import { newId, secondsNow } from "../../reply/ids.ts";
import type { ReplyEvent, ReplyRequest } from "../../reply/reply.ts";
import { hint, officialObject } from "../fields/official.ts";
import { Usage } from "../fields/usage.ts";
import { conversationOf, type ResponseParts } from "./conversation.ts";
import { inputField } from "./items/input.ts";
import { type CompactionItem, newItemId, sealed } from "./items/item.ts";
import { messagesOf } from "./items/messages.ts";
import { usageOf } from "./resource.ts";

const compactRequest = lazySchema((z) =>
  officialObject({
    model: z.string(),
    input: inputField().optional(),
    previous_response_id: z.string().optional(),
    instructions: z.string().optional(),
    ...{ prompt_cache_key: hint(), prompt_cache_options: hint(), prompt_cache_retention: hint() },
    service_tier: hint(),
  }),
);

/** Most tokens of a summary. */
const summaryTokens = 1024;

const task =
  "Summarise the conversation above for someone who has to go on with it: what was asked, what was found out and " +
  "decided, what is still to be done. Keep names, numbers and quotations as they are. Write the summary alone.";

function lineOf({ role, content, tool_calls }: Message): string {
  const calls = tool_calls === undefined ? "" : ` ${JSON.stringify(tool_calls)}`;
  return `${role}: ${String(content)}${calls}`;
}

/** A conversation as one question about it, so that templates which want turns to alternate take any. */
function summaryRequest(messages: readonly Message[]): ReplyRequest {
  const content = `${messages.map(lineOf).join("\n\n")}\n\n${task}`;
  return {
    messages: [{ role: "user", content }],
    tools: [],
    toolChoice: "none",
    parallelToolCalls: false,
    templateVariables: { enable_thinking: false },
    maxTokens: summaryTokens,
    stop: [],
    sampling: { temperature: 0 },
    n: 1,
  };
}

/** What was said in a reply, without its thoughts. */
async function textOf(reply: AsyncGenerator<ReplyEvent, void, undefined>, usage: Usage): Promise<string> {
  let text = "";
  for await (const event of reply) {
    usage.add(event);
    if (event.type === "text") text += event.text;
  }
  return text.trim();
}

/** The route. */
export function compactRoute({ serving, store }: ResponseParts): Route["handle"] {
  return async (call) => {
    const body = await call.read(compactRequest(), serving.limits);
    const model = serving.models.find(body.model);
    const items = conversationOf(body, (id) => store.get(id), { serving, store });
    const messages = messagesOf(items, body.instructions);
    if (messages.length === 0) throw refused(["input"], "expected a conversation to make short");
    const usage = new Usage();
    const id = newId("resp_");
    const reply = serving.reply(call, { id, model, request: summaryRequest(messages) });
    const type = "compaction";
    const encrypted_content = sealed(await textOf(reply, usage));
    const item: CompactionItem = { type, id: newItemId(type), status: "completed", encrypted_content };
    const created_at = secondsNow();
    call.answer({ id, object: "response.compaction", created_at, output: [item], usage: usageOf(usage) });
  };
}
