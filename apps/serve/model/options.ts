/** What a model server is given, and its defaults. */
import { countKind, type OptionKinds, optionsOf } from "../../../lib/base/check-options.ts";
import type { TextEncoders } from "../api/texts/routes.ts";
import { type Route, type ServeOptions, serveKinds } from "../http/http-server.ts";
import type { RecordOptions } from "../learn/recorder.ts";
import type { ServedModel } from "../reply/reply.ts";

/** Bounds on what one request may ask. */
export interface ModelLimits {
  /** Bytes of a body. @default 4194304 */
  readonly maxBodyBytes: number;
  /** Choices of one request. @default 128 */
  readonly maxChoices: number;
  /** Responses of `/v1/responses` that are kept, all clients' together; the longest unused go first. @default 1000 */
  readonly maxStoredResponses: number;
  /** Bytes that they take, conversations included. @default 268435456 */
  readonly maxStoredBytes: number;
  /** From the first byte of a request to the first of its answer, milliseconds; later is 504. @default 600000 */
  readonly timeoutMs: number;
}

const limitKinds: OptionKinds<ModelLimits> = {
  maxBodyBytes: countKind,
  maxChoices: countKind,
  maxStoredResponses: countKind,
  maxStoredBytes: countKind,
  timeoutMs: countKind,
};

/** What {@link ModelLimits} are unless given. */
export const defaultModelLimits: ModelLimits = {
  maxBodyBytes: 4 << 20,
  maxChoices: 128,
  maxStoredResponses: 1000,
  maxStoredBytes: 256 << 20,
  timeoutMs: 600_000,
};

/** A model server's options. */
export interface ModelServerOptions extends ServeOptions, TextEncoders {
  /** What answers, each under its name; the first one is asked by requests to it that name none. They stay the caller's. */
  readonly models: readonly ServedModel[];
  /**
   * Whether the first one also answers under names that no model has, for clients that send those of another server's.
   * @default false
   */
  readonly anyName?: boolean | undefined;
  readonly limits?: Partial<ModelLimits> | undefined;
  /** Keeps what is read and sampled, and takes its scores at `POST /v1/feedback`. @default only where a model learns */
  readonly record?: RecordOptions | undefined;
  /**
   * Whether whoever may ask may also push weights at `/v1/weights`: the first model, a language model, then samples from them.
   * @default false
   */
  readonly acceptWeights?: boolean | undefined;
  /** Further routes on the same port. @internal */
  readonly mounted?: readonly Route[] | undefined;
}

/** The type of each option. */
export const modelServerKinds: OptionKinds<ModelServerOptions> = {
  models: "list",
  anyName: "boolean",
  limits: optionsOf<Partial<ModelLimits>>(limitKinds),
  embedding: "object",
  reranker: "object",
  record: optionsOf<RecordOptions>({ folder: "string", maxWaiting: countKind, reward: "function" }),
  acceptWeights: "boolean",
  mounted: "list",
  ...serveKinds,
};
