/** An agent's search while it is under way, in the form of OpenAI's hosted search. */
import type { FoundPassage } from "../../../reply/reply.ts";
import { passageUrl } from "../../fields/passage-url.ts";
import { newItemId, type SearchItem } from "./item.ts";
import type { ToldEvent } from "./open-items.ts";

/** What was found, without the passages' texts: citations have the words that matter. */
function sourceOf(passage: FoundPassage): object {
  const { title, score = null } = passage;
  return { type: "url", url: passageUrl(passage), title, score };
}

/** A search that an agent does. */
export class OpenSearch {
  /** Its place in the output. */
  readonly index: number;
  readonly #id = newItemId("web_search_call");
  readonly #queries: readonly string[];
  #status: SearchItem["status"] = "in_progress";
  #sources: readonly object[] | undefined;

  constructor(index: number, queries: readonly string[]) {
    this.index = index;
    this.#queries = queries;
  }

  get item(): SearchItem {
    const [query = ""] = this.#queries;
    const sources = this.#sources === undefined ? {} : { sources: this.#sources };
    const action = { type: "search", query, queries: this.#queries, ...sources } as const;
    return { type: "web_search_call", id: this.#id, status: this.#status, action };
  }

  begin(): ToldEvent[] {
    const added = { type: "response.output_item.added", output_index: this.index, item: this.item };
    const told = [added, this.#step("in_progress"), this.#step("searching")];
    this.#status = "searching";
    return told;
  }

  /** @param passages - one list a query */
  end(status: "completed" | "failed", passages: readonly (readonly FoundPassage[])[]): ToldEvent[] {
    this.#status = status;
    this.#sources = passages.flat().map(sourceOf);
    const done = { type: "response.output_item.done", output_index: this.index, item: this.item };
    return status === "completed" ? [this.#step("completed"), done] : [done];
  }

  #step(step: "in_progress" | "searching" | "completed"): ToldEvent {
    return { type: `response.web_search_call.${step}`, item_id: this.#id, output_index: this.index };
  }
}
