/** The processes of one job as this one sees them: who it is, and what all tell one another. */
import { deserialize, serialize } from "node:v8";
import type { NativeProcessGroup } from "../base/addon/comm.ts";
import { native } from "../base/addon/native.ts";
import { checkOptions, shownValue } from "../base/check-options.ts";
import { codeOf, type ErrorCode, SeekError } from "../base/errors.ts";
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

async function settled<Value>(value: Value | Promise<Value>): Promise<Settled<Value>> {
  try {
    return { value: await value };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return { failure: { code: codeOf(cause) ?? "ERR_INTERNAL", message }, cause };
  }
}

const ending = "the end of the work";

function strayed(what: string, rank: number, other: string | undefined): SeekError {
  const message = `expected all ranks at "${what}", got rank ${rank} at "${other}": they do not run the same program`;
  return new SeekError("ERR_STATE", message);
}

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
  /** What the ranks are called in errors: their numbers in the whole job. */
  readonly #numbers: readonly number[];
  #isClosed = false;
  #numNames = 0;

  private constructor(handle: NativeProcessGroup, options: ProcessGroupOptions, numbers: readonly number[]) {
    this.handle = handle;
    this.#numbers = numbers;
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
    const { arrivalMs = 300_000, patienceMs = usualPatienceMs } = options;
    const handle = new (native().ProcessGroupHandle)();
    const place = { rank, size, address, port, servesStore: rank === 0 && !isServed, job };
    await handle.open({ ...place, arrivalMs, patienceMs, numbers: Int32Array.from(numbers) });
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
    return ProcessGroup.#meet({ ...this.#options, ...(await this.#together(name)) }, this.#numbers);
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
    const numbers = ranks.map((one) => this.#numbers[one]!);
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
    const own = await settled(value);
    const { failure, cause } = own;
    const told = failure === undefined ? { what, value: own.value } : { what, failure };
    const messages = await this.handle.exchange(serialize(told), what);
    if (cause !== undefined) throw cause;
    return messages.map((message, rank) => {
      const other = deserialize(message) as Settled<Value>;
      if (other.failure !== undefined)
        throw new SeekError(other.failure.code, `rank ${this.#numbers[rank]}: ${other.failure.message}`);
      if (other.what !== what) throw strayed(what, this.#numbers[rank]!, other.what);
      return other.value as Value;
    });
  }

  /**
   * Tells every rank the value of one.
   *
   * @param what - is told, for errors
   * @param value - the root's; that of the others is not looked at
   * @param root - whose it is, `@default` 0
   * @returns the root's value
   * @throws ERR_REMOTE naming the rank that is gone; ERR_STATE once closed
   */
  async broadcast<Value>(what: string, value: Value, root = 0): Promise<Value> {
    const own = this.rank === root ? serialize(value) : new Uint8Array(0);
    return deserialize(await this.handle.broadcast(own, root, what)) as Value;
  }

  /**
   * Tells one rank a value of each, and the others nothing.
   *
   * @param what - is told, for errors
   * @param value - this rank's: anything that `structuredClone` takes
   * @param root - who is told, `@default` 0
   * @returns on the root one value of each rank, in their order; undefined elsewhere
   * @throws ERR_REMOTE naming the rank that is gone; ERR_STATE once closed
   */
  async gather<Value>(what: string, value: Value, root = 0): Promise<Value[] | undefined> {
    const messages = await this.handle.gather(serialize(value), root, what);
    if (this.rank !== root) return undefined;
    return messages.map((message) => deserialize(message) as Value);
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
    const { failure } = await settled(Promise.reject(error));
    try {
      const messages = await this.handle.exchange(serialize({ what: ending, failure }), ending);
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

  /**
   * Refuses to go on where ranks were given different things.
   *
   * @param values - by their names, as JSON can say them
   * @throws ERR_ARGUMENT naming what differs, the rank and both values
   */
  async agree(values: Readonly<Record<string, unknown>>): Promise<void> {
    const own = Object.fromEntries(Object.entries(values).map(([name, one]) => [name, JSON.stringify(one)]));
    const [first, ...others] = await this.allGather("settings", own);
    for (const [i, other] of others.entries()) {
      const names = [...new Set([...Object.keys(first!), ...Object.keys(other)])];
      const name = names.find((each) => first![each] !== other[each]);
      if (name === undefined) continue;
      const what = `${name}: expected the same on all ranks, got ${first![name]} on rank ${this.#numbers[0]} and ${other[name]} on rank ${this.#numbers[i + 1]}`;
      throw new SeekError("ERR_ARGUMENT", what);
    }
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

/**
 * Ends work between two steps when the signal of any rank has fired, on all of them at the same place.
 *
 * @param processGroup - the ranks; undefined for one process
 * @param signal - this rank's
 * @param what - is ended, for the message
 * @throws ERR_ABORTED
 */
export async function throwIfAnyAborted(
  processGroup: ProcessGroup | undefined,
  signal: AbortSignal | undefined,
  what: string,
): Promise<void> {
  const isAborted = signal?.aborted === true;
  const told = (await processGroup?.allGather(`${what}: whether to go on`, isAborted)) ?? [isAborted];
  if (told.includes(true)) throw new SeekError("ERR_ABORTED", `${what}: aborted`, { cause: signal?.reason });
}

/** The kind of an option that takes a group. */
export function processGroupKind(name: string, value: unknown): void {
  if (!(value instanceof ProcessGroup))
    throw new SeekError("ERR_ARGUMENT", `${name}: expected a ProcessGroup, got ${shownValue(value)}`);
}
