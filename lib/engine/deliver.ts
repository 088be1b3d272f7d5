/** Hands what a step of the engine tells of all sequences to each of them. */
import type { NativeEngineEvent } from "../base/addon/engines.ts";
import { type ErrorCode, SeekError } from "../base/errors.ts";
import type { SequenceEvent } from "./sequence-event.ts";
import type { OpenSequence } from "./sequence-home.ts";

const finishes = [undefined, "length", "stopId", "stopString", "aborted", "failed"] as const;

/** Those that have been closed since are passed over. */
export function deliver(event: NativeEngineEvent, sequences: ReadonlyMap<number, OpenSequence>): void {
  let [start, topStart] = [0, 0];
  for (const [i, id] of event.sequences.entries()) {
    const end = start + event.counts[i]!;
    const topEnd = topStart + event.counts[i]! * event.topCounts[i]!;
    const received: SequenceEvent = {
      ids: event.tokens.slice(start, end),
      logprobs: event.logprobs.slice(start, end),
      entropies: event.entropies.slice(start, end),
      topIds: event.topTokens.slice(topStart, topEnd),
      topLogprobs: event.topLogprobs.slice(topStart, topEnd),
      numReused: event.reused[i]!,
      finish: finishes[event.finishes[i]!],
      stopIndex: event.stopIndices[i]!,
      cutBytes: event.cutBytes[i]!,
      weightsVersion: event.versions[i]!,
      error: errorOf(event.errors[i]),
    };
    [start, topStart] = [end, topEnd];
    sequences.get(id)?.receive(received);
  }
}

function errorOf(error: NativeEngineEvent["errors"][number] | undefined): SeekError | undefined {
  return error && new SeekError((error.code ?? "ERR_INTERNAL") as ErrorCode, error.message);
}
