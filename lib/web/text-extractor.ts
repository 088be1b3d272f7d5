/** Turns pages into text on a thread of its own, one at a time, each within a time. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../base/errors.ts";
import type { PageText } from "./page-text.ts";
import type { TextReply } from "./page-text-worker.ts";

const timeoutMs = 20_000;

/** The thread starts with the first page and does not keep the process alive. */
export class TextExtractor {
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @throws ERR_FORMAT for a page that cannot be read, or not in 20 seconds */
  extract(html: string): Promise<PageText> {
    const result = this.#last.then(() => this.#run(html));
    this.#last = result.catch(() => {});
    return result;
  }

  async #run(html: string): Promise<PageText> {
    this.#worker ??= new Worker(new URL("page-text-worker.js", import.meta.url));
    const worker = this.#worker;
    worker.ref();
    const reply = await ask(worker, html);
    worker.unref();
    if (reply !== undefined && "page" in reply) return reply.page;
    if (reply === undefined) {
      this.#worker = undefined;
      await worker.terminate();
    }
    throw new SeekError("ERR_FORMAT", reply?.failure ?? `page: not read within ${timeoutMs} ms`);
  }
}

/** Undefined when the thread takes too long or dies. */
function ask(worker: Worker, html: string): Promise<TextReply | undefined> {
  return new Promise((resolve) => {
    const end = (reply?: TextReply): void => {
      clearTimeout(timer);
      worker.off("message", end).off("error", die).off("exit", die);
      resolve(reply);
    };
    const die = (): void => end();
    const timer = setTimeout(die, timeoutMs);
    worker.on("message", end).on("error", die).on("exit", die);
    worker.postMessage(html);
  });
}
