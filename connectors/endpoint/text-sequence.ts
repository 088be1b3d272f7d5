/** Sequences over a server that goes on with texts: what an agent needs of an engine, without log-probabilities. */
import { SeekError } from "../../lib/base/errors.ts";
import type {
  GeneratedSpan,
  GenerateRequest,
  OpenSequence,
  SequenceSource,
  TextCodec,
} from "../../lib/rollout/seams.ts";
import type { CompletionRequest, Completions } from "../remote/completions.ts";
import { type Part, partsOf, toMessages, toText } from "./messages.ts";

/** What sequences are made of. */
export interface EndpointParts {
  readonly completions: Pick<Completions, "api" | "complete">;
  /** Turns texts into the ids that an agent counts; the server sees texts only. */
  readonly tokenizer: TextCodec;
}

/**
 * A server in place of an engine.
 *
 * @param parts - the server and a tokenizer
 * @returns a source of sequences; their spans have NaN for log-probabilities
 * @example
 * const completions = new Completions({ url: "http://127.0.0.1:9/v1", model: "m" });
 * const tokenizer = wordCodec();
 * const engine = endpointSource({ completions, tokenizer });
 * const { format, limits, sampling } = ragR1({ queries: "single" });
 * const agent = searchAgent({ engine, tokenizer, chatTemplate: messageMarks, search, format, limits, sampling });
 */
export function endpointSource(parts: EndpointParts): SequenceSource {
  return {
    open: (ids, { seed }) => {
      const sequence = new TextSequence(parts, [], seed);
      sequence.append(ids);
      return sequence;
    },
  };
}

/** A piece of what was said, by the ids that an agent counts it by. */
interface Piece {
  readonly ids: Int32Array;
  readonly parts: readonly Part[];
}

/** The parts of ids that came from the model: read again after a pop, they are still the model's own words. */
const ownParts = new WeakMap<Int32Array, readonly Part[]>();

class TextSequence implements OpenSequence {
  readonly #parts: EndpointParts;
  readonly #said: Piece[];
  readonly #seed: number;
  #turns = 0;

  constructor(parts: EndpointParts, said: readonly Piece[], seed: number) {
    this.#parts = parts;
    this.#said = [...said];
    this.#seed = seed;
  }

  async generate({ maxTokens, stop, signal, temperature, topP }: GenerateRequest): Promise<GeneratedSpan> {
    const { completions, tokenizer } = this.#parts;
    const said = this.#said.flatMap(({ parts }) => parts);
    const begun = completions.api === "chat" ? this.#begun() : "";
    const prompt =
      completions.api === "chat" ? toMessages(begun === "" ? said : said.slice(0, -1)) : toText(said);
    // Servers take seeds of 31 bits; every turn of a sequence draws anew.
    const seed = (this.#seed + this.#turns++) % 2 ** 31;
    try {
      const completed = await this.#complete({ prompt, maxTokens, stop, seed, signal, temperature, topP });
      const text = withoutBeginning(completed.text, begun);
      const ids = tokenizer.encode(text, { parseSpecialTokens: false });
      ownParts.set(ids, [{ role: "assistant", text }]);
      this.append(ids);
      const logprobs = new Float32Array(ids.length).fill(Number.NaN);
      return { ids, logprobs, stop: completed.stop, weightsVersion: 0 };
    } catch (error) {
      if (!(error instanceof SeekError) || error.code !== "ERR_ABORTED") throw error;
      return { ids: new Int32Array(), logprobs: new Float32Array(), stop: "aborted", weightsVersion: 0 };
    }
  }

  /**
   * Words that a recipe puts into the model's mouth, such as `<think>`. Chat servers do not go on with a message: they take
   * the last one for finished, or refuse it for being the assistant's.
   */
  #begun(): string {
    const last = this.#said.at(-1);
    if (last === undefined || ownParts.has(last.ids)) return "";
    const part = last.parts.at(-1);
    return part?.role === "assistant" ? part.text : "";
  }

  async #complete(request: CompletionRequest): Promise<Ended> {
    const { text, finish, stopText } = await this.#parts.completions.complete(request);
    return endOf(text, { finish, stopText, stop: request.stop });
  }

  append(ids: Int32Array): void {
    this.#said.push({ ids, parts: ownParts.get(ids) ?? partsOf(this.#parts.tokenizer.decode(ids)) });
  }

  truncate(length: number): void {
    let room = length;
    for (const { ids, parts } of this.#said.splice(0)) {
      if (ids.length <= room) this.#said.push({ ids, parts });
      else if (room > 0) this.append(ids.slice(0, room));
      room = Math.max(0, room - ids.length);
    }
  }

  fork({ seed }: { readonly seed: number }): TextSequence {
    return new TextSequence(this.#parts, this.#said, seed);
  }

  close(): void {}
}

/** A model that was not told how its message begins may write that itself. */
function withoutBeginning(text: string, beginning: string): string {
  const written = text.trimStart();
  const repeats = beginning.trim() !== "" && written.startsWith(beginning.trim());
  return repeats ? written.slice(beginning.trim().length) : text;
}

interface Ended {
  readonly text: string;
  readonly stop: "stop" | "eos" | "length";
}

/** Servers cut the stop string off, and most do not say which it was: here it is put back. */
export function endOf(
  text: string,
  {
    finish,
    stopText,
    stop,
  }: {
    readonly finish: "stop" | "length";
    readonly stopText?: string | undefined;
    readonly stop: readonly string[];
  },
): Ended {
  const ends = stop.map((each) => ({ at: text.indexOf(each), each })).filter(({ at }) => at >= 0);
  const [first] = ends.sort((a, b) => a.at - b.at);
  // Some servers leave it there, and some write on behind it.
  if (first !== undefined) return { text: text.slice(0, first.at + first.each.length), stop: "stop" };
  if (finish === "length") return { text, stop: "length" };
  const missing = stopText !== undefined && stop.includes(stopText) ? stopText : unclosed(text, stop);
  return missing === undefined ? { text, stop: "eos" } : { text: text + missing, stop: "stop" };
}

/** The closing tag that the last opened of these tags lacks. */
function unclosed(text: string, closings: readonly string[]): string | undefined {
  const opened = closings
    .map((closing) => ({ closing, at: text.lastIndexOf(openingOf(closing)) }))
    .filter(({ closing, at }) => at >= 0 && openingOf(closing) !== closing);
  return opened.sort((a, b) => b.at - a.at)[0]?.closing;
}

const openingOf = (closing: string): string => closing.replace("</", "<").replace("<|end_of_", "<|begin_of_");
