/** What every conversation in a format does turn by turn: generate, act, observe, within its limit of turns. */
import { SeekError } from "../../base/errors.ts";
import type { Format } from "../formats/format.ts";
import type { Action } from "../grammars/grammar.ts";
import type { StopReason } from "../trajectory.ts";
import type { TurnStop } from "./events.ts";
import type { Outcome, Rollout } from "./rollout.ts";
import type { Session, Turn, TurnOptions } from "./session.ts";

/** A session whose turns are actions of a format. */
export class FormatTurns {
  readonly rollout: Rollout;
  readonly session: Session;
  readonly format: Format;
  #isLast = false;
  #isCut = false;

  constructor(rollout: Rollout, session: Session, format: Format) {
    this.rollout = rollout;
    this.session = session;
    this.format = format;
  }

  /** Opens the session. @throws what `rollout.open` throws */
  static async open(rollout: Rollout, question: string, format: Format): Promise<FormatTurns> {
    const { system, prefix, isBare, prompt } = format;
    const session = await rollout.open({ system, prefix, isBare, prompt: prompt(question) });
    return new FormatTurns(rollout, session, format);
  }

  /** Whether one turn is left. */
  get isBeforeLast(): boolean {
    return this.session.turns === this.rollout.limits.maxTurns - 1 || this.#isAnswerDue;
  }

  /** Whether the turn under way, or the one that has just ended, is the last. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** Whether the next turn has become the last one without an observation that says so. */
  get isUnannounced(): boolean {
    return this.#isAnswerDue && !this.#isLast;
  }

  get #isAnswerDue(): boolean {
    return this.rollout.answerNow?.aborted === true;
  }

  /** A turn; one that is cut short because the answer is due has the stop `length`. */
  async generate(options: TurnOptions = {}): Promise<Turn> {
    const { session, rollout, format } = this;
    this.#isLast ||= this.isBeforeLast;
    const signal = this.#isLast || format.lastTurn === "" ? undefined : rollout.answerNow;
    const turn = await session.generate({ stop: format.turnEnds, signal, ...options });
    this.#isCut = turn.stop === "aborted" && signal?.aborted === true && !rollout.isAborted;
    return this.#isCut ? { ...turn, stop: "length" } : turn;
  }

  /** Counts an action that is no answer, and says why no turn can follow it, if none can. */
  stopAfter({ kind }: Pick<Action, "kind">, stop: TurnStop): Outcome["stop"] {
    if (kind === "invalid" && !this.#isCut) this.rollout.invalidActions += 1;
    if (stop === "length" && this.session.ended === "context") return "context";
    if (!this.isLast) return undefined;
    return kind === "invalid" ? stop : "max_turns";
  }

  /** What the policy shall read after a search or an invalid turn. */
  async respond(action: Action): Promise<string> {
    const { rollout, format } = this;
    if (action.kind === "invalid") return this.#isCut ? "" : format.invalid;
    if (action.kind !== "search") {
      throw new SeekError(
        "ERR_ARGUMENT",
        `format: expected a memory for actions like ${action.kind}, got none`,
      );
    }
    const { queries, dropped } = action;
    rollout.droppedQueries += dropped;
    const callsTools = format.readCall !== undefined && rollout.tools !== undefined;
    const documents = callsTools
      ? await rollout.call(queries, format.readCall)
      : await rollout.searchAll(queries);
    if (documents === undefined) return format.failure;
    return format.observation(queries, documents, (text) => rollout.shorten(text));
  }

  /** Lets the policy read a text, and what announces its last turn; or says why it cannot. */
  async observe(text: string): Promise<StopReason | undefined> {
    const { isMessage = false, isBare = false, lastTurn } = this.format;
    this.#isLast = this.isBeforeLast;
    const shown = this.#isLast ? text + lastTurn : text;
    if (shown === "" && this.#isAnswerDue) return undefined;
    const isAdded = await this.session.append(shown, { asMessage: isMessage && !isBare });
    return isAdded ? undefined : this.session.ended;
  }
}
