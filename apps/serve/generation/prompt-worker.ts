/** The thread of long prompts as servers see it: one prompt after the other, in fair turns. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../../lib/base/errors.ts";
import { FairQueue } from "../../../lib/base/slices/fair-queue.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { Refusal } from "../http/refusal.ts";
import type { PromptReply, PromptTask } from "./prompt-thread.ts";

/** A task that is not done. */
interface Waiting {
  /** Its JSON is handed over. */
  readonly task: PromptTask;
  settle(reply: PromptReply): void;
}

const sizeOf = ({ json }: PromptTask): number => json.reduce((sum, { length }) => sum + length, 0);

/** The thread of one process. It keeps the process alive while it works. */
class PromptWorker {
  readonly #waiting = new Map<number, Waiting>();
  readonly #queue = new FairQueue();
  #underWay: number | undefined;
  #worker: Worker | undefined;
  #numTasks = 0;

  ask(task: PromptTask): Promise<PromptReply> {
    const number = this.#numTasks++;
    const reply = new Promise<PromptReply>((settle) => this.#waiting.set(number, { task, settle }));
    this.#queue.add(number, sizeOf(task));
    this.#advance();
    return reply;
  }

  #advance(): void {
    if (this.#underWay !== undefined) return;
    this.#underWay = this.#queue.take();
    const next = this.#underWay === undefined ? undefined : this.#waiting.get(this.#underWay);
    if (next === undefined) {
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    const blocks = next.task.json.map(({ buffer }) => buffer);
    this.#worker.postMessage(next.task, blocks);
  }

  #start(): Worker {
    const worker = new Worker(new URL("prompt-thread.js", import.meta.url));
    worker.on("message", (reply: PromptReply) => {
      if (this.#worker === worker) this.#settle(reply);
    });
    worker.on("error", ({ message }) => {
      // It is dead; the next task gets another one.
      this.#worker = undefined;
      this.#settle({ vocabSize: 0, failure: { of: "prompt", code: "ERR_INTERNAL", message } });
    });
    return worker;
  }

  #settle(reply: PromptReply): void {
    const number = this.#underWay as number;
    const done = this.#waiting.get(number);
    this.#waiting.delete(number);
    this.#underWay = undefined;
    done?.settle(reply);
    this.#advance();
  }
}

const worker = new PromptWorker();

/** What a template refuses of messages is the request's fault. */
export const refusedMessages = (reason: string): Refusal =>
  new Refusal("invalid_request", `messages: ${reason}`);

/**
 * Has a prompt written or encoded by the thread.
 *
 * @param task - of one prompt
 * @param tokenizer - that was loaded from the task's path
 * @throws Refusal for what the template refuses; as loading the tokenizer and encoding do; ERR_STATE where the tokenizer's files were changed
 */
export async function askThread(
  task: PromptTask,
  { vocabSize }: Partial<Pick<Tokenizer, "vocabSize">>,
): Promise<PromptReply> {
  const reply = await worker.ask(task);
  const { failure } = reply;
  if (failure?.of === "messages") throw refusedMessages(failure.message);
  if (failure !== undefined) throw new SeekError(failure.code, `prompt: ${failure.message}`);
  if (reply.vocabSize === vocabSize) return reply;
  throw new SeekError(
    "ERR_STATE",
    `${task.path}: its tokenizer was changed since it was loaded; serve it again`,
  );
}
