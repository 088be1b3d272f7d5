/** What is left out in turn, and what RAG-R1's paper says comes of it. */
import type { LossOn } from "../../../lib/train/batch/sequence.ts";

/** One row of the table: where training starts, what it trains on, and how. */
export interface Variant {
  readonly name: string;
  /** The base model, or the one that has learnt the format. */
  readonly start: "base" | "sft";
  /** No reinforcement learning, on all questions, or on the selected ones. */
  readonly questions: "none" | "all" | "selected";
  readonly lossOn: LossOn;
}

/** All variants, the whole method first. */
export const variants = [
  { name: "whole", start: "sft", questions: "selected", lossOn: "policy" },
  { name: "without SFT", start: "base", questions: "selected", lossOn: "policy" },
  { name: "without RL", start: "sft", questions: "none", lossOn: "policy" },
  { name: "without selection", start: "sft", questions: "all", lossOn: "policy" },
  { name: "without the mask", start: "sft", questions: "selected", lossOn: "all" },
] as const satisfies readonly Variant[];

/** A variant's name. */
export type VariantName = (typeof variants)[number]["name"];

/**
 * Mean exact match over four multi-hop sets of a 7B model, per cent: RAG-R1's ablations (arXiv 2507.02962, one query a
 * turn and several). The mask's are of another paper and other sets: Search-R1's (arXiv 2503.09516, seven sets, PPO).
 */
export const published: Readonly<Record<VariantName, { readonly single: number; readonly multi?: number }>> =
  {
    whole: { single: 39.2, multi: 41.9 },
    "without SFT": { single: 31.8, multi: 33.9 },
    "without RL": { single: 34.4, multi: 37.1 },
    "without selection": { single: 36.5, multi: 41.1 },
    "without the mask": { single: 34.3 },
  };

/** Search-R1 with the mask, to set `without the mask` against. */
export const publishedWithMask = 43.1;
