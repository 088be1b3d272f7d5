/** The memory-stack rollout of Agentic-RAG-R1 and TC-RAG: every turn is one action, and some actions forget. */
import { SeekError } from "../../base/errors.ts";
import type { Action } from "../grammars/grammar.ts";
import type { Memory, MemoryAction } from "../memory.ts";
import type { StopReason, Trajectory } from "../trajectory.ts";
import type { Conversation, Turn } from "../turns/conversation.ts";
import { afterAction, type Frame, type FrameKind, visibleSegments } from "./frames.ts";
import { stateValue } from "./state-value.ts";

/**
 * Plays a conversation on a memory stack. Popped frames are cut off the sequence, so that the context shrinks; the
 * feedback or summary that replaces them is read again, id for id. `Limits.maxTokens` bounds what is visible at once.
 *
 * @param talk - holds the prompt
 * @param memory - the rules
 * @returns the trajectory, with its record of the stack
 * @throws ERR_ARGUMENT when the sequence cannot forget, or cannot score where the state value needs it
 */
export async function playStack(talk: Conversation, memory: Memory): Promise<Trajectory> {
  checkSequence(talk, memory);
  const stack = new Stack(talk, memory);
  const stop = await play(talk, stack, memory);
  return {
    ...talk.toTrajectory(stop),
    memory: {
      actions: stack.actions,
      peakTokens: talk.peakTokens,
      finalTokens: talk.numTokens,
      totalTokens: talk.segments.reduce((sum, { tokens }) => sum + tokens.length, 0),
    },
  };
}

function checkSequence({ sequence }: Conversation, { stateValue }: Memory): void {
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

async function play(talk: Conversation, stack: Stack, memory: Memory): Promise<StopReason> {
  const { format, limits } = talk.environment;
  for (;;) {
    const early = talk.stopBefore();
    if (early) return early;
    const turn = await talk.generate({ entropies: memory.stateValue === "entropy", ...stack.visible() });
    if (turn.stop === "aborted") {
      stack.note(turn, { kind: "invalid" });
      return "aborted";
    }
    const action = format.parse(turn.text, format);
    const value = await claimValue(talk, turn, action, memory);
    const isSure = value.value === undefined || value.value < memory.sigma;
    const counts = isSure && talk.turns > memory.minActions;
    if (action.kind === "end" || (action.kind === "answer" && (counts || talk.turns === limits.maxTurns))) {
      stack.note(turn, { kind: action.answer === undefined ? "invalid" : "answer", ...value });
      return talk.conclude(action.answer, turn.stop);
    }
    await stack.take(action.kind, turn, value);
    const ended =
      talk.stopAfter(action, turn.stop) ?? (await stack.observe(await reply(talk, action, memory)));
    if (ended) return ended;
  }
}

/** Of what the policy claims: thoughts and answers. Perplexities cost a forward, and only an answer's decides. */
async function claimValue(
  talk: Conversation,
  turn: Turn,
  action: Action,
  { stateValue: kind }: Memory,
): Promise<{ readonly value?: number }> {
  if (kind === "none") return {};
  const isClaim = action.kind === "answer" || (action.kind === "reasoning" && kind === "entropy");
  return isClaim ? { value: await stateValue(talk, turn, { kind, start: action.start ?? 0 }) } : {};
}

async function reply(talk: Conversation, action: Action, { demoted }: Memory): Promise<string> {
  if (action.kind === "answer") return demoted;
  return action.kind === "search" || action.kind === "invalid" ? talk.respond(action) : "";
}

/** The frames, kept equal to what the sequence holds. */
class Stack {
  readonly actions: MemoryAction[] = [];
  readonly #talk: Conversation;
  readonly #condenses: Memory["condenses"];
  #frames: readonly Frame[] = [];

  constructor(talk: Conversation, { condenses }: Memory) {
    this.#talk = talk;
    this.#condenses = condenses;
  }

  /** What the next turn sees, where it is not everything said so far. */
  visible(): { readonly visible?: readonly number[] } {
    const visible = visibleSegments(this.#frames);
    const isAll =
      visible.length === this.#talk.segments.length && visible.every((segment, i) => segment === i);
    return isAll ? {} : { visible };
  }

  note(
    { segment }: Turn,
    action: Omit<MemoryAction, "segment" | "popped"> & { readonly popped?: number },
  ): void {
    this.actions.push({ popped: 0, ...action, segment });
  }

  /** Makes a frame of an action, and cuts off the sequence what it pops. An answer is a thought here. */
  async take(kind: FrameKind | "answer", turn: Turn, value: Pick<MemoryAction, "value">): Promise<void> {
    const before = [...visibleSegments(this.#frames), turn.segment];
    const frame = { kind: kind === "answer" ? "reasoning" : kind, segments: [turn.segment] } as const;
    const frames = afterAction(this.#frames, frame, this.#condenses);
    const popped = this.#frames.length + 1 - frames.length;
    this.note(turn, { kind, ...value, popped, ...(kind === "answer" ? { isDemoted: true } : {}) });
    this.#frames = frames;
    await this.#show(before, visibleSegments(frames));
  }

  /** What the policy reads in reply to its action belongs to the frame on top. */
  async observe(text: string): Promise<StopReason | undefined> {
    const { limits, format } = this.#talk.environment;
    const isLast = this.#talk.turns === limits.maxTurns - 1;
    if (text === "" && !(isLast && format.lastTurn !== "")) return undefined;
    const ended = await this.#talk.observe(text);
    if (ended) return ended;
    const top = this.#frames.at(-1)!;
    const segments = [...top.segments, this.#talk.segments.length - 1];
    this.#frames = [...this.#frames.slice(0, -1), { ...top, segments }];
    return undefined;
  }

  async #show(before: readonly number[], after: readonly number[]): Promise<void> {
    let common = 0;
    while (common < before.length && before[common] === after[common]) common += 1;
    if (common === before.length && common === after.length) return;
    const { segments } = this.#talk;
    const named = (numbers: readonly number[]) => numbers.slice(common).map((i) => segments[i]!);
    await this.#talk.replace(named(before), named(after));
  }
}
