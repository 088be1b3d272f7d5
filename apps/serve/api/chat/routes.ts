/** `POST /v1/chat/completions`, as OpenAI's clients ask for it. */
import { answerEvents } from "../../http/answer-events.ts";
import type { Call } from "../../http/call.ts";
import type { Route } from "../../http/http-server.ts";
import { newId, secondsNow } from "../../reply/ids.ts";
import type { ReplyEvent } from "../../reply/reply.ts";
import { wholeCalls } from "../../reply/whole-calls.ts";
import { checkChoices, type Serving, textModelOf } from "../fields/serving.ts";
import { Usage } from "../fields/usage.ts";
import { ChatChoice } from "./choice.ts";
import { type ChatChunkOptions, chatChunks } from "./chunks.ts";
import { type ChatRequest, chatRequest, replyRequestOf } from "./request.ts";

/** Gathers a whole reply. */
async function chatCompletion(
  reply: AsyncGenerator<ReplyEvent, void, undefined>,
  { head, told }: ChatChunkOptions,
): Promise<object> {
  const usage = new Usage();
  const choices: ChatChoice[] = [];
  let promptIds: readonly number[] = [];
  for await (const event of reply) {
    usage.add(event);
    if (event.type === "start" && told.ids) promptIds = [...(event.promptIds ?? [])];
    choices[event.choice] ??= new ChatChoice(event.choice, told);
    choices[event.choice]?.add(event);
  }
  const ids = told.ids ? { prompt_token_ids: promptIds } : {};
  return { ...head, object: "chat.completion", choices, usage, system_fingerprint: null, ...ids };
}

function optionsOf(
  body: ChatRequest,
  { id, model }: { readonly id: string; readonly model: string },
): ChatChunkOptions {
  return {
    head: { id, created: secondsNow(), model },
    told: { logprobs: body.logprobs ?? false, ids: body.return_token_ids ?? false },
    hasUsage: body.stream_options?.include_usage ?? false,
  };
}

/** The route. */
export function chatRoutes(serving: Serving): Route[] {
  const { limits, models } = serving;
  const handle = async (call: Call): Promise<void> => {
    const body = await call.read(chatRequest(), limits);
    const model = models.find(body.model);
    const request = replyRequestOf(body);
    checkChoices(request.n, limits);
    const options = optionsOf(body, { id: newId("chatcmpl-"), model: model.id });
    const reply = wholeCalls(serving.reply(call, { id: options.head.id, model, request }));
    if (body.stream) await answerEvents(call, chatChunks(reply, options));
    else call.answer(await chatCompletion(reply, options));
  };
  const count = async (call: Call): Promise<void> => {
    const body = await call.read(chatRequest(), limits);
    const { text } = textModelOf(serving, body.model);
    call.answer({ input_tokens: (await text.promptIds(replyRequestOf(body))).length });
  };
  const path = "/v1/chat/completions";
  return [
    { method: "POST", path, dialect: "error", handle },
    { method: "POST", path: `${path}/input_tokens`, dialect: "error", handle: count },
  ];
}
