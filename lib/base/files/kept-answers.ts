/** Answers that cost money or time, kept in a file of lines that a kill can only shorten. */
import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { SeekError } from "../errors.ts";

/** Texts by the hash of what was asked. */
export class KeptAnswers {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #answers: Map<string, string>;
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string, file: FileHandle, answers: Map<string, string>) {
    this.#path = path;
    this.#file = file;
    this.#answers = answers;
  }

  /**
   * Opens the file, or makes it. A last line that a kill has cut is dropped.
   *
   * @param path - one JSON pair of hash and answer a line
   * @returns the answers, to be closed
   * @throws ERR_IO when the file system refuses; ERR_FORMAT when a whole line is no such pair
   */
  static async open(path: string): Promise<KeptAnswers> {
    try {
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, "a+");
      try {
        return new KeptAnswers(path, file, await readPairs(file, path));
      } catch (cause) {
        await file.close();
        throw cause;
      }
    } catch (cause) {
      if (cause instanceof SeekError) throw cause;
      throw new SeekError("ERR_IO", `${path}: cannot be opened: ${(cause as Error).message}`, { cause });
    }
  }

  /** How many are kept. */
  get size(): number {
    return this.#answers.size;
  }

  /** What was answered to a request; undefined when it was not asked before. */
  get(request: object): string | undefined {
    return this.#answers.get(hashOf(request));
  }

  /** Keeps an answer. @throws ERR_IO */
  async set(request: object, answer: string): Promise<void> {
    const hash = hashOf(request);
    this.#answers.set(hash, answer);
    const line = `${JSON.stringify([hash, answer])}\n`;
    // One line at a time: appends of a handle may otherwise mix.
    this.#writing = this.#writing.then(() => this.#file.appendFile(line));
    await this.#writing.catch((cause: unknown) => {
      throw new SeekError("ERR_IO", `${this.#path}: cannot be written`, { cause });
    });
  }

  /** Waits for what is being written, and gives the file back. */
  async close(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#file.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function hashOf(request: object): string {
  return createHash("sha256").update(JSON.stringify(request)).digest("hex");
}

/** What the whole lines say; the rest is cut off. */
async function readPairs(file: FileHandle, path: string): Promise<Map<string, string>> {
  const bytes = await file.readFile();
  const whole = bytes.lastIndexOf("\n") + 1;
  await file.truncate(whole);
  const lines = bytes.subarray(0, whole).toString("utf8").split("\n").slice(0, -1);
  return new Map(lines.map((line, i) => parsePair(line, `${path}:${i + 1}`)));
}

function parsePair(line: string, where: string): [string, string] {
  try {
    const pair: unknown = JSON.parse(line);
    if (Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string")) {
      return pair as [string, string];
    }
  } catch {}
  throw new SeekError("ERR_FORMAT", `${where}: expected a pair of hash and answer, got ${line.slice(0, 80)}`);
}
