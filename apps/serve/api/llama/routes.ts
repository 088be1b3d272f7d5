/** `POST /completion` and `GET /props`, as llama.cpp's own clients ask for them: texts are continued as they stand. */
import { answerEvents } from "../../http/answer-events.ts";
import type { Call } from "../../http/call.ts";
import type { SentEvent } from "../../http/event-stream.ts";
import type { Route } from "../../http/http-server.ts";
import { newId } from "../../reply/ids.ts";
import type { ReplyEvent, ServedModel } from "../../reply/reply.ts";
import { mixed } from "../completions/several.ts";
import { checkChoices, type Serving, type TextModel, textModelOf } from "../fields/serving.ts";
import { LlamaAnswer } from "./answer.ts";
import { propsRoute } from "./props.ts";
import { type LlamaBody, llamaRequest, requestsOf } from "./request.ts";

/** A reply of several prompts, and the answers that it becomes. */
interface Making {
  readonly reply: AsyncGenerator<ReplyEvent, void, undefined>;
  readonly answers: readonly LlamaAnswer[];
}

async function make(
  serving: Serving,
  call: Call,
  { body, model, text }: TextModel & { readonly body: LlamaBody },
): Promise<Making> {
  checkChoices(body.prompt.length, serving.limits);
  const requests = await requestsOf(body, { tokenizer: text.tokenizer, contextTokens: model.contextTokens });
  const id = newId("cmpl-");
  const replyOf = (request: (typeof requests)[number], firstChoice: number) =>
    serving.reply(call, { id, model: model as ServedModel, request, firstChoice });
  const answers = requests.map((request, index) => {
    const prompt = text.tokenizer.decode(request.promptIds ?? []);
    return new LlamaAnswer({ model, index, request, prompt, body });
  });
  return { reply: mixed(requests.map(replyOf), 1), answers };
}

async function* events({ reply, answers }: Making): AsyncGenerator<SentEvent, void, undefined> {
  for await (const event of reply) {
    const answer = answers[event.choice];
    const piece = answer?.add(event);
    if (piece !== undefined) yield { data: piece };
    if (event.type === "finish") yield { data: answer };
  }
}

/**
 * llama.cpp's own routes.
 *
 * @param serving - the models, and how they are asked
 */
export function llamaRoutes(serving: Serving): Route[] {
  const handle = async (call: Call): Promise<void> => {
    const body = await call.read(llamaRequest(), serving.limits);
    const making = await make(serving, call, { body, ...textModelOf(serving, body.model) });
    if (body.stream) return answerEvents(call, events(making));
    for await (const event of making.reply) making.answers[event.choice]?.add(event);
    call.answer(making.answers.length === 1 ? making.answers[0] : making.answers);
  };
  return [
    ...["/completion", "/completions"].map(
      (path): Route => ({ method: "POST", path, dialect: "error", handle }),
    ),
    { method: "GET", path: "/props", dialect: "error", handle: propsRoute(serving) },
  ];
}
