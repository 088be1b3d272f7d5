/** What the routes of all protocols are given. */
import type { Call } from "../../http/call.ts";
import { refused } from "../../http/refusal.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../../reply/reply.ts";

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
  /** A model's reply, admitted, counted and recorded. */
  reply(call: Caller, asked: AskedReply<Model>): AsyncGenerator<ReplyEvent, void, undefined>;
}

/** A reply that is asked for. */
interface AskedReply<Model extends ServedModel> {
  /** Names it in the answer and in the record. */
  readonly id: string;
  readonly model: Model;
  readonly request: ReplyRequest;
  /** Of an answer to several prompts: the number of this reply's first choice in it. @default 0 */
  readonly firstChoice?: number | undefined;
}

/** @throws Refusal for more choices than one request may have */
export function checkChoices(n: number, { maxChoices }: ApiLimits): void {
  if (n > maxChoices) throw refused(["n"], `expected at most ${maxChoices}, got ${n}`);
}

/** A model with a text of its own. */
export interface TextModel {
  readonly model: ServedModel;
  readonly text: ModelText;
}

/**
 * The model that a request names, or the first one.
 *
 * @throws Refusal for an unknown name, and for an agent, which reads prompts of its own making
 */
export function textModelOf({ models }: Serving, id: string | null | undefined): TextModel {
  const model = models.find(id);
  if (model.text !== undefined) return { model, text: model.text };
  throw refused(["model"], `expected a language model, got ${model.id}: agents read prompts of their own`);
}
