/** The memory-stack rollout of Agentic-RAG-R1 and TC-RAG: every turn is one action, and some actions forget. */
import { SeekError } from "../../base/errors.ts";
import type { Action } from "../grammars/grammar.ts";
import type { Memory, MemoryAction } from "../memory.ts";
import type { FormatTurns } from "../session/format-turns.ts";
import type { Outcome } from "../session/rollout.ts";
import { countTokens, type Session, type Turn } from "../session/session.ts";
import type { StopReason } from "../trajectory.ts";
import { afterAction, type Frame, type FrameKind, visibleSegments } from "./frames.ts";
import { stateValue } from "./state-value.ts";

/**
 * Runs a conversation on a memory stack. Popped frames are cut off the sequence, so that the context shrinks; the
 * feedback or summary that replaces them is read again, id for id. `Limits.maxTokens` bounds what is visible at once.
 *
 * @param turns - of a session that holds the prompt
 * @param memory - the rules
 * @returns how it ended, with the record of the stack
 * @throws ERR_ARGUMENT when the sequence cannot forget, or cannot score where the state value needs it
 */
export async function runOnStack(turns: FormatTurns, memory: Memory): Promise<Outcome> {
  const { session } = turns;
  checkSequence(session, memory);
  const stack = new Stack(turns, memory);
  const outcome = await runTurns(turns, stack, memory);
  return {
    ...outcome,
    memory: {
      actions: stack.actions,
      peakTokens: session.peakTokens,
      finalTokens: session.numTokens,
      totalTokens: countTokens(session.segments),
    },
  };
}

function checkSequence({ sequence }: Session, { stateValue }: Memory): void {
  if (sequence.truncate === undefined) {
    throw new SeekError(
      "ERR_ARGUMENT",
      "sequence: a memory stack needs one that can forget, got no truncate()",
    );
  }
  if (stateValue === "cppl" && sequence.score === undefined) {
    throw new SeekError("ERR_ARGUMENT", "sequence: cppl needs one that can score, got no score()");
  }
}

async function runTurns(turns: FormatTurns, stack: Stack, memory: Memory): Promise<Outcome> {
  const { format, session } = turns;
  for (;;) {
    if (turns.isUnannounced) await stack.observe("");
    const turn = await turns.generate({
      entropies: memory.stateValue === "entropy",
      visible: stack.visible(),
    });
    const { text, stop } = turn;
    if (stop === "aborted" || stop === "context") {
      if (turn.segment >= 0) stack.note(turn, { kind: "invalid" });
      return { stop };
    }
    const action = format.parse(text, format);
    const value = await claimValue(turns, turn, action, memory);
    const isSure = value === undefined || value < memory.sigma;
    const counts = turns.isLast || (isSure && session.turns > memory.minActions);
    if (action.kind === "end" || (action.kind === "answer" && counts)) {
      stack.note(turn, { kind: action.answer === undefined ? "invalid" : "answer", value });
      return { answer: action.answer, stop };
    }
    await stack.take(action.kind, turn, value);
    const ended = turns.stopAfter(action, stop) ?? (await stack.observe(await reply(turns, action, memory)));
    if (ended) return { stop: ended };
  }
}

/** Of what the policy claims: thoughts and answers. Perplexities cost a forward, and only an answer's decides. */
async function claimValue(
  turns: FormatTurns,
  turn: Turn,
  action: Action,
  { stateValue: kind }: Memory,
): Promise<number | undefined> {
  if (kind === "none") return undefined;
  const isClaim = action.kind === "answer" || (action.kind === "reasoning" && kind === "entropy");
  return isClaim ? stateValue(turns, turn, { kind, start: action.start ?? 0 }) : undefined;
}

async function reply(turns: FormatTurns, action: Action, { demoted }: Memory): Promise<string> {
  if (action.kind === "answer") return demoted;
  return action.kind === "search" || action.kind === "invalid" ? turns.respond(action) : "";
}

/** The frames, kept equal to what the sequence holds. */
class Stack {
  readonly actions: MemoryAction[] = [];
  readonly #turns: FormatTurns;
  readonly #condenses: Memory["condenses"];
  #frames: readonly Frame[] = [];

  constructor(turns: FormatTurns, { condenses }: Memory) {
    this.#turns = turns;
    this.#condenses = condenses;
  }

  /** What the next turn sees, where it is not everything recorded so far. */
  visible(): readonly number[] | undefined {
    const visible = visibleSegments(this.#frames);
    const { length } = this.#turns.session.segments;
    return visible.length === length && visible.every((segment, i) => segment === i) ? undefined : visible;
  }

  note(
    { segment }: Turn,
    action: Omit<MemoryAction, "segment" | "popped"> & { readonly popped?: number },
  ): void {
    this.actions.push({ popped: 0, ...action, segment });
  }

  /** Makes a frame of an action, and cuts off the sequence what it pops. An answer is a thought here. */
  async take(kind: FrameKind | "answer", turn: Turn, value: number | undefined): Promise<void> {
    const before = [...visibleSegments(this.#frames), turn.segment];
    const frame = { kind: kind === "answer" ? "reasoning" : kind, segments: [turn.segment] } as const;
    const frames = afterAction(this.#frames, frame, this.#condenses);
    const popped = this.#frames.length + 1 - frames.length;
    this.note(turn, { kind, value, popped, isDemoted: kind === "answer" || undefined });
    this.#frames = frames;
    await this.#show(before, visibleSegments(frames));
  }

  /** What the policy reads in reply to its action belongs to the frame on top. */
  async observe(text: string): Promise<StopReason | undefined> {
    const { session, format, isBeforeLast } = this.#turns;
    if (text === "" && !(isBeforeLast && format.lastTurn !== "")) return undefined;
    const ended = await this.#turns.observe(text);
    if (ended) return ended;
    // Before the first turn there is no frame yet.
    const top = this.#frames.at(-1) ?? { kind: "invalid", segments: [] };
    const segments = [...top.segments, session.segments.length - 1];
    this.#frames = [...this.#frames.slice(0, -1), { ...top, segments }];
    return undefined;
  }

  async #show(before: readonly number[], after: readonly number[]): Promise<void> {
    let common = 0;
    while (common < before.length && before[common] === after[common]) common += 1;
    if (common === before.length && common === after.length) return;
    const { session } = this.#turns;
    const named = (numbers: readonly number[]) => numbers.slice(common).map((i) => session.segments[i]!);
    await session.replace(named(before), named(after));
  }
}
