/** A sequence that says what a script tells it, a tokenizer of one id per character, a recorded search. */
import type { GeneratedSpan, GenerateRequest, TextCodec, TokenSequence } from "../../lib/rollout/seams.ts";
import type { AgentEvent } from "../../lib/rollout/session/events.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import type { TitledText } from "../../lib/text/observation.ts";

/** One id per UTF-16 unit, so that every text of a test is its own ids. */
export const characters: TextCodec = {
  encode: (text) => Int32Array.from(text, (unit) => unit.charCodeAt(0)),
  decode: (ids) => String.fromCharCode(...ids),
};

/** One scripted turn: a text, or ids with a stop reason. */
export type ScriptedTurn = string | { readonly ids: Int32Array; readonly stop: GeneratedSpan["stop"] };

/** Plays turns in order and remembers everything it was told. */
export class ScriptedSequence {
  readonly requests: GenerateRequest[] = [];
  readonly appended: string[] = [];
  readonly forks: ScriptedSequence[] = [];
  closed = false;
  readonly #turns: ScriptedTurn[];
  readonly #script: readonly ScriptedTurn[];

  constructor(...turns: ScriptedTurn[]) {
    this.#script = turns;
    this.#turns = [...turns];
  }

  /** Entropies, where they are asked for, are 0. */
  async generate(request: GenerateRequest): Promise<GeneratedSpan> {
    const said = this.#say(request);
    return request.entropies ? { ...said, entropies: new Float32Array(said.ids.length) } : said;
  }

  #say(request: GenerateRequest): GeneratedSpan {
    this.requests.push(request);
    if (request.signal?.aborted) return span(new Int32Array(), "aborted");
    const turn = this.#turns.shift();
    if (turn === undefined) throw new Error("the script has ended");
    if (typeof turn !== "string") return span(turn.ids, turn.stop);
    const ids = characters.encode(turn).subarray(0, request.maxTokens);
    const isCut = ids.length < turn.length;
    return span(ids, isCut ? "length" : request.stop.some((stop) => turn.includes(stop)) ? "stop" : "eos");
  }

  append(ids: Int32Array): void {
    this.appended.push(characters.decode(ids));
  }

  fork(): ScriptedSequence {
    const fork = new ScriptedSequence(...this.#script);
    this.forks.push(fork);
    return fork;
  }

  close(): void {
    this.closed = true;
  }
}

function span(ids: Int32Array, stop: GeneratedSpan["stop"]): GeneratedSpan {
  return { ids, logprobs: Float32Array.from(ids, (_, i) => -i / 8), stop, weightsVersion: 3 };
}

/** A scripted sequence that forgets, and remembers what it held whenever it was asked to go on. */
export class ForgetfulSequence {
  readonly seen: string[] = [];
  readonly seeds: (number | undefined)[] = [];
  text: string;
  score?: NonNullable<TokenSequence["score"]>;
  readonly #turns: ScriptedSequence;

  constructor(prompt: string, ...turns: ScriptedTurn[]) {
    this.text = prompt;
    this.#turns = new ScriptedSequence(...turns);
  }

  /** The entropies of turn n are 1 / n. */
  async generate(request: GenerateRequest): Promise<GeneratedSpan> {
    this.seen.push(this.text);
    const span = await this.#turns.generate(request);
    this.text += characters.decode(span.ids);
    const entropies = new Float32Array(span.ids.length).fill(1 / this.seen.length);
    return request.entropies ? { ...span, entropies } : span;
  }

  append(ids: Int32Array): void {
    this.text += characters.decode(ids);
  }

  truncate(length: number, { seed }: { readonly seed?: number } = {}): void {
    this.seeds.push(seed);
    this.text = this.text.slice(0, length);
  }

  fork(): ForgetfulSequence {
    throw new Error("it plays one rollout");
  }

  close(): void {}
}

/** Finds one document per query and remembers what it was asked. */
export function recordedSearch(asked: (readonly string[])[] = []): Search {
  return async (queries) => {
    asked.push(queries);
    return queries.map((query) => [hitOf(query, `about ${query}`)]);
  };
}

/** A hit with its title for an id. */
export function hitOf(title: string, text: string): Hit {
  return { id: title, title, text, score: 1 };
}

/** Keeps what the searches and calls of a rollout find, list by list, without ids and scores. */
export function documentsInto(lists: TitledText[][]): (event: AgentEvent) => void {
  return (event) => {
    if (event.type !== "documents") return;
    lists.push(...event.documents.map((each) => each.map(({ title, text }) => ({ title, text }))));
  };
}
