/** The thread of grammars as an engine sees it: one constraint after the other is read there, in fair turns. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../base/errors.ts";
import type { GrammarReply, GrammarTask } from "./grammar-thread.ts";
import type { GrammarVocabulary } from "./grammars.ts";
import { FairQueue } from "../../base/slices/fair-queue.ts";

/** A task that is not done; `mask` is of the next token, where there is one. */
interface Waiting {
  readonly task: GrammarTask;
  resolve(mask: Int32Array): void;
  reject(error: Error): void;
}

const nothing = new Int32Array();

/**
 * Runs tasks in the order in which they come, but for beginnings: one of them at a time is handed to the thread, so
 * that what follows a text waits for one at most, and a small constraint for no more than two large ones.
 */
export class GrammarWorker {
  readonly #vocabulary: GrammarVocabulary;
  readonly #waiting = new Map<number, Waiting>();
  /** Beginnings that wait for the one under way. */
  readonly #queue = new FairQueue();
  #opening: number | undefined;
  #worker: Worker | undefined;
  #numTasks = 0;

  constructor(vocabulary: GrammarVocabulary) {
    this.#vocabulary = vocabulary;
  }

  /**
   * Begins a text.
   *
   * @param source - JSON of a constraint
   * @param signal - gives up what has not begun to be read
   * @returns its number
   * @throws ERR_ARGUMENT for a source that cannot be read; ERR_ABORTED
   */
  async open(source: string, stopIds: readonly number[], signal: AbortSignal | undefined): Promise<number> {
    const givenUp = (): SeekError => new SeekError("ERR_ABORTED", "constraint: given up");
    if (signal?.aborted) throw givenUp();
    // The number of the task that begins it.
    const text = this.#numTasks;
    const leave = (): void => {
      // What is being read is read to its end, for the next text of that source.
      if (this.#queue.delete(text)) this.#take(text)?.reject(givenUp());
    };
    signal?.addEventListener("abort", leave, { once: true });
    try {
      await this.#ask({ kind: "open", text, source, stopIds });
      return text;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Goes on with ids of a text. @returns the next mask */
  next(text: number, ids: Int32Array): Promise<Int32Array> {
    return this.#ask({ kind: "next", text, ids });
  }

  /** Forgets a text. */
  forget(text: number): void {
    if (this.#worker !== undefined) void this.#ask({ kind: "close", text }).catch(() => {});
  }

  /** Ends the thread; texts are not followed any more. */
  async close(): Promise<void> {
    const worker = this.#worker;
    worker?.ref();
    this.#end(new SeekError("ERR_ABORTED", "constraint: the engine was closed"));
    await worker?.terminate();
  }

  #ask(task: GrammarTask): Promise<Int32Array> {
    const number = this.#numTasks++;
    const done = new Promise<Int32Array>((resolve, reject) => {
      this.#waiting.set(number, { task, resolve, reject });
    });
    if (task.kind === "open") this.#queue.add(number, task.source.length);
    else this.#post(number, task);
    this.#advance();
    return done;
  }

  #post(number: number, task: GrammarTask): void {
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage({ number, task });
  }

  /** Begins the next text, unless one is being begun. */
  #advance(): void {
    if (this.#opening !== undefined) return;
    const number = this.#queue.take();
    if (number === undefined) return;
    this.#opening = number;
    this.#post(number, (this.#waiting.get(number) as Waiting).task);
  }

  #start(): Worker {
    const worker = new Worker(new URL("grammar-thread.js", import.meta.url), {
      workerData: this.#vocabulary,
    });
    worker.on("message", (reply: GrammarReply) => {
      if (this.#worker === worker) this.#receive(reply);
      // One that is being ended must be seen to its end.
      if (this.#waiting.size === 0 && this.#worker === worker) worker.unref();
    });
    worker.on("error", ({ message }) => {
      if (this.#worker === worker) this.#end(new SeekError("ERR_INTERNAL", `constraint: ${message}`));
    });
    return worker;
  }

  #receive({ task: number, mask = nothing, failure }: GrammarReply): void {
    const waiting = this.#take(number);
    if (failure !== undefined) waiting?.reject(new SeekError(failure.code, failure.message));
    else waiting?.resolve(mask);
    if (this.#opening !== number) return;
    this.#opening = undefined;
    this.#advance();
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    return waiting;
  }

  #end(error: SeekError): void {
    this.#opening = undefined;
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#queue.clear();
  }
}
