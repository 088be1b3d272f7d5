/** The thread of grammars as an engine sees it: one constraint after the other is read there, small ones first. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../base/errors.ts";
import type { GrammarReply, GrammarTask } from "./grammar-thread.ts";
import type { GrammarSource, GrammarVocabulary } from "./grammars.ts";

/** A task that is not done; `mask` is of the next token, where there is one. */
interface Waiting {
  readonly task: GrammarTask;
  resolve(mask: Int32Array): void;
  reject(error: Error): void;
}

const nothing = new Int32Array();

/**
 * Runs tasks in the order in which they come, but for beginnings: one of them at a time is handed to the thread, the smallest that
 * waits, so that what follows a text waits for one at most, and a small constraint for no more than one large one.
 */
export class GrammarWorker {
  readonly #vocabulary: GrammarVocabulary;
  readonly #waiting = new Map<number, Waiting>();
  /** Beginnings that wait for the one under way, with their sizes. */
  readonly #queue = new Map<number, number>();
  #opening: number | undefined;
  #worker: Worker | undefined;
  #numTasks = 0;

  constructor(vocabulary: GrammarVocabulary) {
    this.#vocabulary = vocabulary;
  }

  /**
   * Begins a text.
   *
   * @param signal - gives up what has not begun to be read
   * @returns its number
   * @throws ERR_ARGUMENT for a source that cannot be read; ERR_ABORTED
   */
  async open(
    source: GrammarSource,
    stopIds: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    // The number of the task that begins it.
    const text = this.#numTasks;
    const leave = (): void => {
      // What is being read is read to its end, for the next text of that source.
      if (this.#queue.delete(text))
        this.#take(text)?.reject(new SeekError("ERR_ABORTED", "constraint: given up"));
    };
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const opened = this.#ask({ kind: "open", text, source, stopIds });
      if (signal?.aborted) leave();
      await opened;
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
    if (task.kind === "open") this.#queue.set(number, task.source.constraint.length);
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
    if (this.#opening !== undefined || this.#queue.size === 0) return;
    const [[number]] = [...this.#queue].sort(([, a], [, b]) => a - b) as [[number, number]];
    this.#queue.delete(number);
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
