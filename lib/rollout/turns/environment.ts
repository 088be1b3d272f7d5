/** What stands around one conversation: what it meets, what opened it, who ends it. */
import type { Document } from "../../text/observation.ts";
import type { Format } from "../formats/format.ts";
import type { Limits } from "../limits.ts";
import type { Sampling, SearchDocuments, TextCodec } from "../seams.ts";
import type { PerformCalls } from "./perform.ts";
import type { TurnMarks } from "./turn-marks.ts";

/** Everything a rollout meets besides the question. */
export interface Environment {
  readonly tokenizer: TextCodec;
  readonly search: SearchDocuments;
  /** Executes the calls of an action instead of one search for all of them. @default `performSearch(search)` */
  readonly perform?: PerformCalls;
  readonly format: Format;
  /** Around observations that are messages. @default nothing */
  readonly turnMarks?: TurnMarks | undefined;
  readonly limits: Limits;
  readonly sampling: Sampling;
}

/** A prompt that the sequence already holds. */
export interface OpenedPrompt {
  readonly id: string;
  readonly questionId: string;
  readonly tokens: Int32Array;
  readonly text: string;
  /** The seed of the sequence; after a memory stack has forgotten tokens, others follow from it. @default 0 */
  readonly seed?: number;
}

/** Who ends a rollout, and who hears of it. */
export interface RolloutSignals {
  readonly signal?: AbortSignal;
  /** Told of what each search brought, list by list, before anything is cut. */
  readonly onDocuments?: (documents: readonly (readonly Document[])[]) => void;
}
