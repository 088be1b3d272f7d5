/** The thread of grammars as an engine sees it: one text after the other is begun there, and one that takes too long ends it. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../base/errors.ts";
import type { GrammarReply, GrammarTask, OpenText } from "./grammar-thread.ts";
import type { GrammarSource, GrammarVocabulary } from "./grammars.ts";

/** A task that is not done; `mask` is of the next token, where there is one. */
interface Waiting {
  readonly task: GrammarTask;
  resolve(mask: Int32Array): void;
  reject(error: Error): void;
}

const nothing = new Int32Array();

/** Sources that took too long, the latest. */
const mostRefused = 32;

/** What is thrown for a source that did not compile in time. */
export class TooSlow extends SeekError {
  constructor(compileMs: number) {
    const remedy = "shorter lengths, fewer repetitions and fewer values compile sooner";
    super("ERR_ARGUMENT", `constraint: not compiled within ${compileMs} ms; ${remedy}`);
  }
}

/**
 * Runs tasks in the order in which they come, but for beginnings, which wait for each other: what follows a text waits for one of
 * them at most. A source that does not compile in time ends the thread, as nothing else stops it; another one takes up the
 * texts that were followed where they were.
 */
export class GrammarWorker {
  readonly #vocabulary: GrammarVocabulary;
  readonly #compileMs: number;
  readonly #waiting = new Map<number, Waiting>();
  /** Texts that are followed, as they can be begun again. */
  readonly #texts = new Map<number, OpenText & { readonly ids: number[] }>();
  /** Beginnings that wait for the one under way. */
  readonly #queue = new Set<number>();
  readonly #refused = new Set<string>();
  #opening: { readonly number: number; readonly timer: NodeJS.Timeout } | undefined;
  #worker: Worker | undefined;
  #numTasks = 0;

  /** @param compileMs - how long a source may take to compile, milliseconds */
  constructor(vocabulary: GrammarVocabulary, compileMs: number) {
    this.#vocabulary = vocabulary;
    this.#compileMs = compileMs;
  }

  /**
   * Begins a text.
   *
   * @param signal - gives up what has not begun to compile
   * @returns its number
   * @throws TooSlow; ERR_ARGUMENT for a source that cannot be read; ERR_ABORTED
   */
  async open(
    source: GrammarSource,
    stopIds: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (this.#refused.has(JSON.stringify(source))) throw new TooSlow(this.#compileMs);
    // The number of the task that begins it.
    const text = this.#numTasks;
    const leave = (): void => {
      // What is compiled by now is compiled to its end, for the next text of that source.
      if (this.#queue.delete(text))
        this.#take(text)?.reject(new SeekError("ERR_ABORTED", "constraint: given up"));
    };
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const opened = this.#ask({ kind: "open", text, source, stopIds, ids: [] });
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
    this.#texts.delete(text);
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
    if (task.kind === "open") this.#queue.add(number);
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
    const [number] = this.#queue;
    if (this.#opening !== undefined || number === undefined) return;
    this.#queue.delete(number);
    const timer = setTimeout(() => this.#giveUp(number, new TooSlow(this.#compileMs)), this.#compileMs);
    this.#opening = { number, timer };
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

  #receive({ task: number, mask, failure }: GrammarReply): void {
    const error = failure && new SeekError(failure.code, failure.message);
    const isOpening = this.#opening?.number === number;
    // What breaks while it compiles may have broken all that stands beside it.
    if (isOpening && error?.code === "ERR_INTERNAL") this.#giveUp(number, error);
    else {
      if (isOpening) this.#endOpening();
      this.#settle(number, error, mask);
      this.#advance();
    }
  }

  #settle(number: number, error: SeekError | undefined, mask: Int32Array = nothing): void {
    const waiting = this.#take(number);
    if (error !== undefined) waiting?.reject(error);
    else if (waiting !== undefined) {
      this.#note(waiting.task);
      waiting.resolve(mask);
    }
  }

  /** Keeps what a text has come to. */
  #note(task: GrammarTask): void {
    if (task.kind === "open") this.#texts.set(task.text, { ...task, ids: [...task.ids] });
    else if (task.kind === "next") this.#texts.get(task.text)?.ids.push(...task.ids);
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    return waiting;
  }

  #endOpening(): void {
    clearTimeout(this.#opening?.timer);
    this.#opening = undefined;
  }

  /** Ends the thread with what it compiles, and has another one go on with all else. */
  #giveUp(number: number, error: SeekError): void {
    this.#endOpening();
    const given = this.#take(number);
    void this.#worker?.terminate();
    this.#worker = undefined;
    if (given?.task.kind === "open") this.#refuse(given.task.source);
    const left = [...this.#waiting].filter(([each]) => !this.#queue.has(each));
    if (this.#texts.size > 0)
      void this.#ask({ kind: "restore", texts: [...this.#texts.values()] }).catch(() => {});
    for (const [each, { task }] of left) {
      if (task.kind === "restore") this.#take(each)?.resolve(nothing);
      else this.#post(each, task);
    }
    this.#advance();
    given?.reject(error);
  }

  #refuse(source: GrammarSource): void {
    this.#refused.add(JSON.stringify(source));
    const [oldest] = this.#refused;
    if (oldest !== undefined && this.#refused.size > mostRefused) this.#refused.delete(oldest);
  }

  #end(error: SeekError): void {
    this.#endOpening();
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#queue.clear();
    this.#texts.clear();
  }
}
