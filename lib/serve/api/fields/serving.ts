/** What the routes of all protocols are given. */
import type { Call } from "../../http/call.ts";
import { refused } from "../../http/refusal.ts";
import type { ReplyEvent, ReplyRequest, ServedModel } from "../../reply/reply.ts";

/** Bounds of one request. */
export interface ApiLimits {
  /** Bytes of a body. */
  readonly maxBodyBytes: number;
  /** Choices of one request. */
  readonly maxChoices: number;
}

/** A client's request, or one of several on its socket. */
export type Caller = Pick<Call, "id" | "signal" | "incoming">;

/** The models that answer, and how they are asked. */
export interface Serving<Model extends ServedModel = ServedModel> {
  readonly limits: ApiLimits;
  readonly models: {
    /** All of them, the first one first. */
    list(): readonly Model[];
    /**
     * The one of a name, and the first one where none is named.
     *
     * @throws Refusal when there is none of that name
     */
    find(id: string | null | undefined): Model;
  };
  /** A model's reply, admitted, counted and recorded. `id` names it in the answer and in the record. */
  reply(
    call: Caller,
    asked: { readonly id: string; readonly model: Model; readonly request: ReplyRequest },
  ): AsyncGenerator<ReplyEvent, void, undefined>;
}

/** @throws Refusal for more choices than one request may have */
export function checkChoices(n: number, { maxChoices }: ApiLimits): void {
  if (n > maxChoices) throw refused(["n"], `expected at most ${maxChoices}, got ${n}`);
}
