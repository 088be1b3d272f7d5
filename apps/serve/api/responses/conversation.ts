/** The conversation that a request goes on with. */
import { Refusal, refused } from "../../http/refusal.ts";
import type { Serving } from "../fields/serving.ts";
import { itemsOf } from "./items/input.ts";
import type { Item } from "./items/item.ts";
import type { ResponseRequest } from "./request.ts";
import type { ResponseStore, StoredResponse } from "./store.ts";

/** What responses are made with. */
export interface ResponseParts {
  readonly serving: Serving;
  readonly store: ResponseStore;
}

/** Where the response before is looked for. */
export type FindResponse = (id: string) => StoredResponse | undefined;

/** @throws Refusal 404 */
export function gone(id: string): Refusal {
  return new Refusal(
    "not_found",
    `${id.slice(0, 100)}: no such response is kept; old ones make room for others`,
  );
}

/** @throws Refusal for what a function gave that nobody called */
function checkCalls(items: readonly Item[]): void {
  const called = new Set<string>();
  for (const item of items) {
    if (item.type === "function_call") called.add(item.call_id);
    if (item.type === "function_call_output" && !called.has(item.call_id)) {
      throw refused(
        ["input"],
        `expected a function_call of call_id ${item.call_id.slice(0, 100)} before its output`,
      );
    }
  }
}

/**
 * The conversation that a request goes on with.
 *
 * @param body - its own items, and the response before
 * @param find - where that one is looked for
 * @throws Refusal for a response or an item that is not kept, and for an output without its call
 */
export function conversationOf(
  body: Pick<ResponseRequest, "previous_response_id" | "input">,
  find: FindResponse,
  { store }: ResponseParts,
): Item[] {
  const { previous_response_id: id, input } = body;
  const previous = id == null ? undefined : find(id);
  if (id != null && previous === undefined) {
    const why = `no response ${id.slice(0, 100)} is kept; send the whole conversation as input`;
    throw refused(["previous_response_id"], why, "previous_response_not_found");
  }
  const before = previous === undefined ? [] : [...previous.input, ...previous.response.output];
  const items = [...before, ...itemsOf(input ?? [], (itemId) => store.findItem(itemId))];
  checkCalls(items);
  return items;
}
