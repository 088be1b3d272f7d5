/** `POST /v1/messages` and `POST /v1/messages/count_tokens`, as Anthropic's clients ask for them. */
import { answerEvents } from "../../http/answer-events.ts";
import type { Call } from "../../http/call.ts";
import type { SentEvent } from "../../http/event-stream.ts";
import type { Route } from "../../http/http-server.ts";
import { Refusal, refusalBody, refused } from "../../http/refusal.ts";
import { newId } from "../../reply/ids.ts";
import type { Serving } from "../fields/serving.ts";
import { askOf } from "./ask.ts";
import { countBody, type MessagesBody, messagesBody } from "./body.ts";
import { messageEvents } from "./events.ts";
import { type MessageEvent, messageOf } from "./message.ts";

/** Anthropic's clients show the id of a request from a header of this name. */
function nameRequest(call: Call): void {
  call.headers["request-id"] = call.id;
}

async function* sent(events: AsyncGenerator<MessageEvent, void>): AsyncGenerator<SentEvent, void> {
  for await (const data of events) yield { event: data.type, data };
}

function eventsOf(serving: Serving, call: Call, body: MessagesBody): AsyncGenerator<MessageEvent, void> {
  const model = serving.models.find(body.model);
  const { thinking } = body;
  const isOmitted = thinking !== undefined && "display" in thinking && thinking.display === "omitted";
  const id = newId("msg_");
  const reply = serving.reply(call, { id, model, request: askOf(body, model) });
  return messageEvents(reply, { id, model: model.id, hidesThoughts: isOmitted });
}

async function answerMessage(serving: Serving, call: Call): Promise<void> {
  nameRequest(call);
  const body = await call.read(messagesBody(), serving.limits);
  const events = eventsOf(serving, call, body);
  if (body.stream === true) {
    const failed = (refusal: Refusal): SentEvent[] => [
      { event: "error", data: refusalBody(refusal, "anthropic", call.id) },
    ];
    return answerEvents(call, sent(events), failed);
  }
  const message = await messageOf(events);
  if (message === undefined) throw new Refusal("internal", "the reply never began");
  call.answer(message);
}

async function answerCount(serving: Serving, call: Call): Promise<void> {
  nameRequest(call);
  const body = await call.read(countBody(), serving.limits);
  const model = serving.models.find(body.model);
  const { text } = model;
  if (text === undefined) {
    throw refused(["model"], `${model.id} is an agent: what it will read is not known before it searches`);
  }
  call.answer({ input_tokens: (await text.promptIds(askOf(body, model))).length });
}

/**
 * Anthropic's routes.
 *
 * @param serving - the models, and how they are asked
 */
export function messagesRoutes(serving: Serving): Route[] {
  const post = (path: string, handle: Route["handle"]): Route => {
    return { method: "POST", path, dialect: "anthropic", handle };
  };
  return [
    post("/v1/messages", (call) => answerMessage(serving, call)),
    post("/v1/messages/count_tokens", (call) => answerCount(serving, call)),
  ];
}
