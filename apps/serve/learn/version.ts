/** A version of the model that learns, kept until its last reply has ended. */
import type { Adapter } from "../../../lib/model/adapter.ts";
import type { ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";

/** An adapter that answers. */
export class Version {
  readonly adapter: Adapter;
  /** Tells it from the others; a candidate keeps its own while it learns. */
  readonly number: number;
  readonly model: ServedModel;
  #numReplies = 0;
  #isRetired = false;

  constructor(number: number, adapter: Adapter, model: ServedModel) {
    this.number = number;
    this.adapter = adapter;
    this.model = model;
  }

  /** Replies, and stays open until it has. */
  async *reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    this.#numReplies += 1;
    try {
      yield* this.model.reply(request, signal);
    } finally {
      this.#numReplies -= 1;
      this.#closeIfDone();
    }
  }

  /** Nobody asks it any more. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#isRetired && this.#numReplies === 0) this.adapter.close();
  }
}
