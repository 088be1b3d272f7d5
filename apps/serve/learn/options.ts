/** How a model learns from its traffic, and the defaults. */
import {
  countKind,
  numberIn,
  type OptionKinds,
  optionsOf,
  wholeKind,
} from "../../../lib/base/check-options.ts";
import type { Adapter } from "../../../lib/model/adapter.ts";
import type { LoraOptions } from "../../../lib/model/form/lora-options.ts";
import type { Model } from "../../../lib/model/model.ts";
import type { ServedModel } from "../reply/reply.ts";
import type { CanaryOptions } from "./canary.ts";

/** What a step of learning did, or what became of a candidate. */
export type LearnEvent =
  | { readonly type: "step"; readonly step: number; readonly metrics: Readonly<Record<string, number>> }
  | {
      readonly type: "promoted" | "rolledBack";
      readonly step: number;
      /** Mean rewards that decided it. */
      readonly stable: number;
      readonly candidate: number;
    }
  | {
      /** What is served earns less than it did, though it is the same, or again what it did. */
      readonly type: "held" | "resumed";
      readonly step: number;
      /** Mean rewards before, and of the newest. */
      readonly before: number;
      readonly now: number;
    }
  | { readonly type: "failed"; readonly error: unknown };

/** A model that learns from the replies it gave. */
export interface LearnOptions {
  /** Under which it is served. */
  readonly name: string;
  /** What the adapters are put on; it stays as it is, and the learning model near it. */
  readonly model: Model;
  /** What answers with an adapter: a language model, or an agent. */
  readonly serve: (adapter: Adapter) => ServedModel | Promise<ServedModel>;
  /** Holds the promoted adapter, as peft writes it, `metrics.jsonl` and `history.jsonl`; what is there is gone on from. @default nothing is kept */
  readonly folder?: string | undefined;
  /** Of a new adapter. @default rank 16 */
  readonly lora?: LoraOptions | undefined;
  /** Share of requests that the candidate answers. @default 0.25 */
  readonly share?: number | undefined;
  /** Scored choices of a step. @default 32 */
  readonly batch?: number | undefined;
  /** @default 5e-5 */
  readonly learningRate?: number | undefined;
  /** `grpo` compares choices of one prompt, and learns nothing from a single one. @default "reinforce++" */
  readonly algorithm?: "reinforce++" | "grpo" | undefined;
  /** Weight of the KL to the model without an adapter. @default 0.001 */
  readonly klCoef?: number | undefined;
  /** Of the adapter's start, and of who answers. @default 0 */
  readonly seed?: number | undefined;
  /** When a candidate is promoted or rolled back. @default the newest 128 rewards, from 32 on, 3 standard errors */
  readonly canary?: Partial<CanaryOptions> | undefined;
  readonly onEvent?: ((event: LearnEvent) => void) | undefined;
}

/** The type of each option. */
export const learnKinds: OptionKinds<LearnOptions> = {
  name: "string",
  model: "object",
  serve: "function",
  folder: "string",
  lora: "object",
  share: numberIn({ above: 0, below: 1 }),
  batch: countKind,
  learningRate: numberIn({ above: 0 }),
  algorithm: ["reinforce++", "grpo"],
  klCoef: numberIn({ from: 0 }),
  seed: wholeKind,
  canary: optionsOf<Partial<CanaryOptions>>({
    window: countKind,
    least: countKind,
    errors: numberIn({ above: 0 }),
  }),
  onEvent: "function",
};

/** The options that cannot be left out. */
export const learnRequired = ["name", "model", "serve"] as const;
