/** Turns pages into text on a thread of its own, one at a time, each within a time. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../lib/base/errors.ts";
import type { TitledText } from "../../lib/text/observation.ts";
import type { TextReply } from "./page-text-worker.ts";

const timeoutMs = 20_000;

/** The thread starts with the first page and does not keep the process alive. */
export class TextExtractor {
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @throws ERR_FORMAT for a page that cannot be read, or not in 20 seconds */
  extract(html: string): Promise<TitledText> {
    const result = this.#last.then(() => this.#run(html));
    this.#last = result.catch(() => {});
    return result;
  }

  async #run(html: string): Promise<TitledText> {
    this.#worker ??= new Worker(new URL("page-text-worker.js", import.meta.url));
    const worker = this.#worker;
    worker.ref();
    const reply = await ask(worker, html);
    worker.unref();
    if ("page" in reply) return reply.page;
    if ("death" in reply) {
      this.#worker = undefined;
      await worker.terminate();
    }
    throw new SeekError("ERR_FORMAT", "death" in reply ? `page: ${reply.death}` : reply.failure);
  }
}

/** `death`: the thread takes too long, ran out of memory, or ended. */
function ask(worker: Worker, html: string): Promise<TextReply | { readonly death: string }> {
  return new Promise((resolve) => {
    const end = (reply: TextReply | { readonly death: string }): void => {
      clearTimeout(timer);
      worker.off("message", end).off("error", fail).off("exit", exit);
      resolve(reply);
    };
    const fail = ({ message }: Error): void => end({ death: message });
    const exit = (code: number): void => end({ death: `the reading thread ended with code ${code}` });
    const timer = setTimeout(() => end({ death: `not read within ${timeoutMs} ms` }), timeoutMs);
    worker.on("message", end).on("error", fail).on("exit", exit);
    worker.postMessage(html);
  });
}
