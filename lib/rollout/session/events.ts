/** Events of a rollout, as they happen. */
import { streamed } from "../../base/streamed.ts";
import type { TitledText } from "../../text/observation.ts";
import type { GeneratedSpan } from "../seams.ts";
import type { Trajectory } from "../trajectory.ts";

/** How a turn ended; `context` when the session has no room for one. */
export type TurnStop = GeneratedSpan["stop"] | "context";

/**
 * One event of a rollout. `session` counts the sessions of the rollout from 0.
 *
 * - `text` what was sampled: token by token from `stream`, else a turn at a time
 * - `turn` the policy's turn is over
 * - `queries` what is searched for, or the calls of tools
 * - `documents` what each of them found, before anything is cut
 * - `failure` a search or a call failed
 * - `answer`, then `done` with the whole record; from `stream` only
 */
export type AgentEvent =
  | { readonly type: "text"; readonly text: string; readonly ids: Int32Array; readonly session: number }
  | { readonly type: "turn"; readonly text: string; readonly stop: TurnStop; readonly session: number }
  | { readonly type: "queries"; readonly queries: readonly string[] }
  | { readonly type: "documents"; readonly documents: readonly (readonly TitledText[])[] }
  | { readonly type: "failure"; readonly reason: string }
  | { readonly type: "answer"; readonly answer: string }
  | { readonly type: "done"; readonly trajectory: Trajectory };

/** Who gets the events. */
export interface EventOptions {
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  /** Whether text comes token by token. @default false */
  readonly isStreamed?: boolean | undefined;
}

/**
 * The events of a rollout as they come. Leaving the loop aborts it and waits until it has given its sequences back.
 *
 * @param start - begins the rollout
 * @param signal - of the caller
 * @returns its events; `done` is the last one
 * @throws what the rollout throws
 */
export async function* eventsOf(
  start: (options: EventOptions & { readonly signal: AbortSignal }) => Promise<Trajectory>,
  signal?: AbortSignal,
): AsyncGenerator<AgentEvent, void, undefined> {
  const trajectory = yield* streamed<AgentEvent, Trajectory>((onEvent, leave) =>
    start({ signal: signal ? AbortSignal.any([signal, leave]) : leave, isStreamed: true, onEvent }),
  );
  if (trajectory.answer !== undefined) yield { type: "answer", answer: trajectory.answer };
  yield { type: "done", trajectory };
}
