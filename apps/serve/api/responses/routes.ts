/** The routes of the Open Responses protocol. */
import { answerEvents } from "../../http/answer-events.ts";
import type { Call } from "../../http/call.ts";
import type { SentEvent } from "../../http/event-stream.ts";
import type { Route } from "../../http/http-server.ts";
import { Refusal, refused } from "../../http/refusal.ts";
import type { Serving } from "../fields/serving.ts";
import { compactRoute } from "./compact.ts";
import { gone, type ResponseParts } from "./conversation.ts";
import { type Making, makeResponse } from "./create.ts";
import { createRequest } from "./request.ts";
import { socketHandler } from "./socket.ts";
import { ResponseStore, type StoredResponse, type StoreLimits } from "./store.ts";
import type { ResponseEvent } from "./writer.ts";

const lastEvent: SentEvent = { data: "[DONE]" };
const sent = (event: ResponseEvent): SentEvent => ({ event: event.type, data: event });

/** A response as it comes. */
async function stream(call: Call, { writer, events }: Making): Promise<void> {
  const told = async function* (): AsyncGenerator<SentEvent, void, undefined> {
    for await (const event of events) yield sent(event);
    yield lastEvent;
  };
  await answerEvents(call, told(), (refusal) => [...writer.failed(refusal).map(sent), lastEvent]);
}

/** A response as a whole. */
async function answer(call: Call, { writer, events }: Making): Promise<void> {
  for await (const _ of events);
  call.answer(writer.response);
}

/** `POST /v1/responses` */
function createRoute({ serving, store }: ResponseParts): Route["handle"] {
  return async (call) => {
    const { stream: streams, ...body } = await call.read(createRequest(), serving.limits);
    const making = makeResponse(call, body, { serving, store, find: (id) => store.get(id) });
    await (streams ? stream(call, making) : answer(call, making));
  };
}

/** The response that a path names. @throws Refusal 404 */
function named({ params }: Call, store: ResponseStore): StoredResponse {
  const id = params.id ?? "";
  const stored = store.get(id);
  if (stored === undefined) throw gone(id);
  return stored;
}

/** `GET /v1/responses/:id` */
function retrieveRoute({ store }: ResponseParts): Route["handle"] {
  return (call) => {
    if (call.query.get("stream") === "true") {
      throw refused(["stream"], "a response that is kept is not streamed again");
    }
    call.answer(named(call, store).response);
  };
}

/** `DELETE /v1/responses/:id` */
function deleteRoute({ store }: ResponseParts): Route["handle"] {
  return (call) => {
    const { id } = named(call, store).response;
    store.delete(id);
    call.answer({ id, object: "response", deleted: true });
  };
}

/** A number of a query, within bounds. */
function limitOf(query: URLSearchParams): number {
  const text = query.get("limit") ?? "20";
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= 100) return limit;
  throw refused(["limit"], `expected a whole number from 1 to 100, got ${text.slice(0, 20)}`);
}

/** `GET /v1/responses/:id/input_items?limit&order&after` */
function inputItemsRoute({ store }: ResponseParts): Route["handle"] {
  return (call) => {
    const { query } = call;
    const { input } = named(call, store);
    const order = query.get("order") ?? "desc";
    if (order !== "asc" && order !== "desc") throw refused(["order"], "expected asc or desc");
    const all = order === "asc" ? input : [...input].reverse();
    const after = query.get("after");
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    if (after !== null && from === 0) throw refused(["after"], `no item ${after.slice(0, 100)}`);
    const data = all.slice(from, from + limitOf(query));
    const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
    call.answer({ object: "list", data, first_id, last_id, has_more: from + data.length < all.length });
  };
}

/** `GET /v1/responses` is for those who ask for a socket. */
function socketOnly(): never {
  throw new Refusal("method_not_allowed", "/v1/responses: expected POST, or GET for a WebSocket");
}

/** The models that answer, and how much is kept of what they said. */
export interface ResponseServing extends Serving {
  readonly limits: Serving["limits"] & StoreLimits;
}

/** `POST /v1/responses`, and the responses that are kept. */
export function responsesRoutes(serving: ResponseServing): Route[] {
  const parts = { serving, store: new ResponseStore(serving.limits) };
  const path = "/v1/responses";
  const one = `${path}/:id`;
  const dialect = "error" as const;
  return [
    { method: "POST", path, dialect, handle: createRoute(parts) },
    { method: "GET", path, dialect, handle: socketOnly, socket: socketHandler(parts) },
    { method: "POST", path: `${path}/compact`, dialect, handle: compactRoute(parts) },
    { method: "GET", path: one, dialect, handle: retrieveRoute(parts) },
    { method: "DELETE", path: one, dialect, handle: deleteRoute(parts) },
    { method: "GET", path: `${one}/input_items`, dialect, handle: inputItemsRoute(parts) },
  ];
}
