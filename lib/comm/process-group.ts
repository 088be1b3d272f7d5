/** The processes of one job as this one sees them: who it is, and what all tell one another. */
import { deserialize, serialize } from "node:v8";
import type { NativeProcessGroup } from "../base/addon/comm.ts";
import { native } from "../base/addon/native.ts";
import { checkOptions, shownValue } from "../base/check-options.ts";
import { codeOf, type ErrorCode, SeekError, throwIfAborted } from "../base/errors.ts";
import { packageVersion } from "../base/package-root.ts";
import { optionKinds, type ProcessGroupOptions } from "./process-group-options.ts";

const usualPatienceMs = 15_000;

/** What a rank has come to. */
interface Settled<Value> {
  /** What it was about to do. */
  readonly what?: string;
  readonly value?: Value;
  readonly failure?: { readonly code: ErrorCode; readonly message: string };
  readonly cause?: unknown;
}

/** A value, or why there is none, as it goes to other ranks. */
async function settled<Value>(what: string, value: Value | Promise<Value>): Promise<Settled<Value>> {
  try {
    return { what, value: await value };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return { what, failure: { code: codeOf(cause) ?? "ERR_INTERNAL", message }, cause };
  }
}

const written = ({ what, value, failure }: Settled<unknown>): Uint8Array =>
  serialize(failure === undefined ? { what, value } : { what, failure });

const ending = "the end of the work";

/**
 * The processes of one job (torch.distributed's c10d: a TCPStore, and Gloo between CPUs). All ranks make the same calls
 * in the same order; a rank that is gone ends those of the others with an error that names it.
 *
 * @example
 * await using processGroup = await ProcessGroup.open({ rank: 0, size: 1, port: 29500 });
 * assert.deepEqual(await processGroup.allGather("names", "first"), ["first"]);
 */
export class ProcessGroup {
  /** This process's number, from 0. Rank 0 prints and writes what is written once. */
  readonly rank: number;
  /** How many processes there are. */
  readonly size: number;
  /** What Trainer and Critic take; nothing else should. @internal */
  readonly handle: NativeProcessGroup;
  readonly #options: ProcessGroupOptions;
  /** What the ranks are called in errors: their numbers in the whole job. @internal */
  readonly numbers: readonly number[];
  #isClosed = false;
  #numNames = 0;

  private constructor(handle: NativeProcessGroup, options: ProcessGroupOptions, numbers: readonly number[]) {
    this.handle = handle;
    this.numbers = numbers;
    this.#options = options;
    this.rank = options.rank;
    this.size = options.size;
  }

  /**
   * Meets the other processes of the job.
   *
   * @param options - who this is, and where all meet
   * @returns the group, once all ranks have come; to be closed
   * @throws ERR_ARGUMENT for an unknown key, or where a rank comes twice; ERR_RANGE for a number that cannot be one;
   *   ERR_REMOTE when the store cannot be reached or served, or naming the ranks that did not come in time
   */
  static async open(options: ProcessGroupOptions): Promise<ProcessGroup> {
    checkOptions("processGroup", options, optionKinds, ["rank", "size", "port"]);
    const { rank, size } = options;
    if (rank >= size)
      throw new SeekError("ERR_RANGE", `rank: expected less than the size, ${size}, got ${rank}`);
    return ProcessGroup.#meet(
      options,
      Array.from({ length: size }, (_, number) => number),
    );
  }

  static async #meet(options: ProcessGroupOptions, numbers: readonly number[]): Promise<ProcessGroup> {
    const { rank, size, port, address = "127.0.0.1", isServed = false, job = "0" } = options;
    const { arrivalMs = 300_000, patienceMs = usualPatienceMs, stallMs = 3_600_000, signal } = options;
    throwIfAborted(signal, "processGroup");
    const handle = new (native().ProcessGroupHandle)();
    const place = { rank, size, address, port, servesStore: rank === 0 && !isServed, job };
    const times = { arrivalMs, patienceMs, stallMs };
    const giveUp = (): void => handle.cancel();
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      await handle.open({ ...place, ...times, version: packageVersion(), numbers: Int32Array.from(numbers) });
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
    return new ProcessGroup(handle, options, numbers);
  }

  /**
   * The same ranks once more, whose calls do not wait for those of this group: for what goes on beside it.
   *
   * @param name - of what goes on, the same on all ranks
   * @returns a group to be closed before this one
   * @throws ERR_REMOTE naming a rank that is gone
   */
  async beside(name: string): Promise<ProcessGroup> {
    return ProcessGroup.#meet({ ...this.#options, ...(await this.#together(name)) }, this.numbers);
  }

  /**
   * Some of the ranks as a group of their own, numbered from 0 in the order given; its errors name them by their numbers here. All
   * ranks call it.
   *
   * @param name - of what they do, the same on all ranks
   * @param ranks - which ones, the same on all ranks
   * @returns a group to be closed before this one; undefined on a rank that is none of them
   * @throws ERR_REMOTE naming a rank that is gone
   */
  async among(name: string, ranks: readonly number[]): Promise<ProcessGroup | undefined> {
    const meeting = await this.#together(name);
    const rank = ranks.indexOf(this.rank);
    if (rank < 0) return undefined;
    const numbers = ranks.map((one) => this.numbers[one]!);
    return ProcessGroup.#meet({ ...this.#options, ...meeting, rank, size: ranks.length }, numbers);
  }

  /** Where ranks that are all here meet once more: who does not come soon is gone. */
  async #together(name: string) {
    const { job = "0", patienceMs = usualPatienceMs } = this.#options;
    const unique = this.newName(name);
    await this.allGather(`meeting for ${unique}`, undefined);
    return { job: `${job}/${unique}`, isServed: true, arrivalMs: 2 * patienceMs };
  }

  /**
   * Tells every rank a value of each. A promise that rejects on one rank makes the call reject on all.
   *
   * @param what - is told, for errors
   * @param value - this rank's, or a promise of it: anything that `structuredClone` takes
   * @returns one value of each rank, in their order
   * @throws ERR_REMOTE naming the rank that is gone; what `value` rejects with, here or on another rank; ERR_STATE once
   *   closed
   */
  async allGather<Value>(what: string, value: Value | Promise<Value>): Promise<Value[]> {
    const own = await settled(what, value);
    const messages = await this.handle.exchange(written(own), what);
    if (own.cause !== undefined) throw own.cause;
    return messages.map((message, rank) => this.#told<Value>(message, rank, what));
  }

  /** @throws what another rank failed with, naming it; ERR_STATE where it is elsewhere */
  #told<Value>(message: Uint8Array, rank: number, expected: string): Value {
    const { what, value, failure } = deserialize(message) as Settled<Value>;
    const name = `rank ${this.numbers[rank]}`;
    if (failure !== undefined) throw new SeekError(failure.code, `${name}: ${failure.message}`);
    if (what === expected) return value as Value;
    const strayed = `expected all ranks at "${expected}", got ${name} at "${what}": they do not run the same program`;
    throw new SeekError("ERR_STATE", strayed);
  }

  /**
   * Tells every rank the value of one. A promise that rejects there makes the call reject on all.
   *
   * @param what - is told, for errors
   * @param value - the root's, or a promise of it; that of the others is not looked at
   * @param root - whose it is, `@default` 0
   * @returns the root's value
   * @throws ERR_REMOTE naming the rank that is gone; what the root's `value` rejects with; ERR_STATE once closed
   */
  async broadcast<Value>(what: string, value: Value | Promise<Value>, root = 0): Promise<Value> {
    const own = this.rank === root ? await settled(what, value) : undefined;
    const message = await this.handle.broadcast(own ? written(own) : new Uint8Array(0), root, what);
    if (own?.cause !== undefined) throw own.cause;
    return this.#told<Value>(message, root, what);
  }

  /**
   * Tells one rank a value of each, and the others nothing. A promise that rejects on a rank rejects there and on the root.
   *
   * @param what - is told, for errors
   * @param value - this rank's, or a promise of it: anything that `structuredClone` takes
   * @param root - who is told, `@default` 0
   * @returns on the root one value of each rank, in their order; undefined elsewhere
   * @throws ERR_REMOTE naming the rank that is gone; what `value` rejects with; ERR_STATE once closed
   */
  async gather<Value>(what: string, value: Value | Promise<Value>, root = 0): Promise<Value[] | undefined> {
    const own = await settled(what, value);
    const messages = await this.handle.gather(written(own), root, what);
    if (own.cause !== undefined) throw own.cause;
    if (this.rank !== root) return undefined;
    return messages.map((message, rank) => this.#told<Value>(message, rank, what));
  }

  /**
   * Counts with all ranks together.
   *
   * @param name - of a counter, which begins at 0
   * @returns what it was before: no two calls of any ranks get the same number
   * @throws ERR_REMOTE when the store is gone; ERR_STATE once closed
   */
  count(name: string): Promise<number> {
    return this.handle.count(name);
  }

  /**
   * A name that this group has not used before; the same on all ranks.
   *
   * @param what - is named
   * @internal
   */
  newName(what: string): string {
    this.#numNames += 1;
    return `${what} ${this.#numNames}`;
  }

  /**
   * Ends this rank's work with an error: others that end at the same place keep their group, those that went on end with it.
   *
   * @param error - why
   * @internal
   */
  async endWith(error: unknown): Promise<void> {
    const failed = await settled(ending, Promise.reject(error));
    try {
      const messages = await this.handle.exchange(written(failed), ending);
      if (messages.every((message) => (deserialize(message) as Settled<unknown>).what === ending)) return;
    } catch {}
    this.fail(error);
  }

  /**
   * Ends the other ranks: what they wait for rejects with this error. To be closed all the same.
   *
   * @param error - why this rank cannot go on
   */
  fail(error: unknown): void {
    if (!this.#isClosed) this.handle.report(error instanceof Error ? error.message : String(error));
  }

  /** Leaves the group: returns when every rank has, or once they could read why one has failed. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.handle.close();
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The kind of an option that takes a group. */
export function processGroupKind(name: string, value: unknown): void {
  if (!(value instanceof ProcessGroup))
    throw new SeekError("ERR_ARGUMENT", `${name}: expected a ProcessGroup, got ${shownValue(value)}`);
}
