/** `POST /v1/completions`, as OpenAI's clients ask for it: texts are continued as they stand. */
import { answerEvents } from "../../http/answer-events.ts";
import type { Call } from "../../http/call.ts";
import type { Route } from "../../http/http-server.ts";
import { refused } from "../../http/refusal.ts";
import { newId, secondsNow } from "../../reply/ids.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../../reply/reply.ts";
import { checkChoices, type Serving } from "../fields/serving.ts";
import { Usage } from "../fields/usage.ts";
import { CompletionChoice } from "./choice.ts";
import { type CompletionChunkOptions, completionChunks } from "./chunks.ts";
import { type CompletionBody, completionRequest, numPrompts, promptsOf, sampleRequestOf } from "./request.ts";
import { mixed } from "./several.ts";

/** @throws Refusal for an agent, which continues no text */
function textOf({ id, text }: ServedModel): ModelText {
  if (text !== undefined) return text;
  throw refused(["model"], `${id} answers conversations: ask /v1/chat/completions`);
}

/** What is asked of the model, one request a prompt. */
function requestsOf(body: CompletionBody, prompts: readonly Int32Array[]): ReplyRequest[] {
  const shared = { messages: [], tools: [], toolChoice: "none", parallelToolCalls: false } as const;
  const sample = sampleRequestOf(body);
  return prompts.map((promptIds) => ({ ...shared, ...sample, promptIds, echo: body.echo ?? false }));
}

function optionsOf(body: CompletionBody, echoed: readonly string[], model: string): CompletionChunkOptions[] {
  const head = { id: newId("cmpl-"), created: secondsNow(), model };
  const hasUsage = body.stream_options?.include_usage ?? false;
  const told = { logprobs: body.logprobs != null, ids: body.return_token_ids ?? false };
  return echoed.map((text) => ({ head, hasUsage, told: { ...told, echoed: text } }));
}

/** Gathers a whole reply. */
async function completion(
  reply: AsyncGenerator<ReplyEvent, void, undefined>,
  options: readonly CompletionChunkOptions[],
  n: number,
): Promise<object> {
  const usage = new Usage(n);
  const choices: CompletionChoice[] = [];
  const [first] = options as [CompletionChunkOptions];
  for await (const event of reply) {
    usage.add(event);
    const { told } = options[Math.floor(event.choice / n)] ?? first;
    choices[event.choice] ??= new CompletionChoice(event.choice, told);
    choices[event.choice]?.add(event);
  }
  return { ...first.head, object: "text_completion", choices, usage };
}

/** The route. */
export function completionRoutes(serving: Serving): Route[] {
  const { limits, models } = serving;
  const handle = async (call: Call): Promise<void> => {
    const body = await call.read(completionRequest(), limits);
    const model = models.find(body.model);
    const text = textOf(model);
    const n = body.n ?? 1;
    checkChoices(n * numPrompts(body), limits);
    const prompts = await promptsOf(body, { tokenizer: text.tokenizer, contextTokens: model.contextTokens });
    if (body.stream && body.echo && prompts.length > 1) {
      throw refused(["echo"], "expected one prompt where it is streamed");
    }
    const options = optionsOf(
      body,
      prompts.map((ids) => (body.echo ? text.tokenizer.decode(ids) : "")),
      model.id,
    );
    const [first] = options as [CompletionChunkOptions];
    const { id } = first.head;
    const requests = requestsOf(body, prompts);
    const reply = mixed(
      requests.map((request, i) => serving.reply(call, { id, model, request, firstChoice: i * n })),
      n,
    );
    if (!body.stream) return call.answer(await completion(reply, options, n));
    await answerEvents(call, completionChunks(reply, { ...first, n }));
  };
  return [{ method: "POST", path: "/v1/completions", dialect: "error", handle }];
}
