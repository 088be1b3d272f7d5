/** The elements of a JSON list, or the members of a JSON object, cut from a stream without parsing the whole. */
import { isUtf8 } from "node:buffer";
import { SeekError } from "../../base/errors.ts";
import { type ReadFileOptions, readChunks } from "./text-file.ts";

/** JSON texts in a row: values of a list, or objects of one member each. */
interface Elements {
  readonly kind: "list" | "object";
  readonly texts: readonly string[];
  /** The position of the first, from 0. */
  readonly first: number;
}

const quoteCode = 34;
const backslashCode = 92;
const commaCode = 44;
const isOpening = (byte: number): boolean => byte === 91 || byte === 123;
const isClosing = (byte: number): boolean => byte === 93 || byte === 125;
const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);

/** Follows brackets and strings; what stands between the commas of the outermost bracket is an element. */
class Cutter {
  kind: Elements["kind"] | undefined;
  isClosed = false;
  numElements = 0;
  readonly #path: string;
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  /** The beginning of the current element in earlier chunks. */
  #rest: Buffer[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** The elements that `chunk` completes. */
  cut(chunk: Buffer): string[] {
    const texts: string[] = [];
    let begin = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (this.#isString) this.#inString(byte);
      else if (byte === quoteCode) this.#isString = true;
      else if (isOpening(byte)) {
        this.#depth += 1;
        if (this.#depth === 1) begin = this.#open(byte, at);
      } else if (isClosing(byte) || (byte === commaCode && this.#depth === 1)) {
        if (this.#depth === 1) {
          this.#take(chunk.subarray(begin, at), byte, texts);
          begin = at + 1;
        }
        if (byte !== commaCode) this.#depth -= 1;
        if (this.#depth === 0) this.isClosed = true;
      } else if (this.#depth === 0 && !isSpace(byte) && !this.#isMark(byte))
        this.#fail(`byte ${byte} outside of it`);
    }
    if (this.#depth > 0 && begin < chunk.length) this.#rest.push(chunk.subarray(begin));
    return texts;
  }

  #open(byte: number, at: number): number {
    if (this.isClosed) this.#fail("more behind it");
    this.kind = byte === 91 ? "list" : "object";
    return at + 1;
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslashCode) this.#isEscaped = true;
    else if (byte === quoteCode) this.#isString = false;
  }

  /** Of a byte order mark. */
  #isMark(byte: number): boolean {
    return this.kind === undefined && (byte === 0xef || byte === 0xbb || byte === 0xbf);
  }

  #take(last: Buffer, end: number, texts: string[]): void {
    if (end !== commaCode && end !== (this.kind === "list" ? 93 : 125))
      this.#fail("another bracket at its end");
    const bytes = this.#rest.length === 0 ? last : Buffer.concat([...this.#rest, last]);
    this.#rest = [];
    const place = this.numElements;
    if (!isUtf8(bytes))
      throw new SeekError("ERR_FORMAT", `${this.#path}[${place}]: expected UTF-8, got other bytes`);
    const text = bytes.toString("utf8").trim();
    if (text === "") {
      if (end !== commaCode && this.numElements === 0) return;
      this.#fail("a comma without an element");
    }
    texts.push(this.kind === "object" ? `{${text}}` : text);
    this.numElements += 1;
  }

  #fail(what: string): never {
    throw new SeekError("ERR_FORMAT", `${this.#path}: expected one JSON list or object, got ${what}`);
  }
}

/**
 * The elements of the one list or object that a JSON file holds, some at a time.
 *
 * @throws ERR_IO, ERR_FORMAT when the file ends early or holds something else, ERR_ABORTED
 */
export async function* readElements(path: string, options: ReadFileOptions = {}): AsyncGenerator<Elements> {
  const cutter = new Cutter(path);
  for await (const chunk of readChunks(path, options)) {
    const first = cutter.numElements;
    const texts = cutter.cut(chunk);
    if (cutter.kind !== undefined && (texts.length > 0 || cutter.isClosed))
      yield { kind: cutter.kind, texts, first };
  }
  if (!cutter.isClosed)
    throw new SeekError(
      "ERR_FORMAT",
      `${path}: expected a JSON list or object to its end, the file ends early`,
    );
}
