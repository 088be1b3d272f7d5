/** A trajectory as the messages of a chat, for formats that know nothing else. */
import type { ExportedSegment, ExportedTrajectory } from "./exported.ts";

/** The model asked for something. */
export interface ToolCall {
  readonly id: string;
  readonly queries: readonly string[];
}

/** A message and whose segment it is. */
export interface ExportedMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly content: string;
  /** Of the assistant: the search at its end. */
  readonly call?: ToolCall | undefined;
  /** Of a tool: the call that it answers. */
  readonly callId?: string | undefined;
}

const roles = { prompt: "user", policy: "assistant", observation: "tool" } as const;

/**
 * The messages of a trajectory, segment by segment. Where as many observations as searches are in it, each is the answer
 * to a call of the turn before; otherwise, as where a wrong action was answered too, no call is named.
 *
 * @param trajectory - with its segments
 */
export function messagesOf({
  id,
  segments,
  queries,
}: Pick<ExportedTrajectory, "id" | "segments" | "queries">): ExportedMessage[] {
  const isPaired = segments.filter(({ kind }) => kind === "observation").length === queries.length;
  let round = 0;
  return segments.map(({ kind, text }, i): ExportedMessage => {
    const call =
      isPaired && isAsking(segments, i) ? { id: `${id}-${round}`, queries: queries[round] ?? [] } : undefined;
    if (kind === "observation") round += 1;
    const callId = isPaired && kind === "observation" ? `${id}-${round - 1}` : undefined;
    return { role: roles[kind], content: text, call, callId };
  });
}

function isAsking(segments: readonly ExportedSegment[], place: number): boolean {
  return segments[place]?.kind === "policy" && segments[place + 1]?.kind === "observation";
}
