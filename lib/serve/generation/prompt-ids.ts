/** The ids of prompts, whose texts may be far longer than any model reads. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../base/errors.ts";
import { idsWithin } from "../../text/tokenizers/ids-within.ts";
import { pathOf, type Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import { Refusal } from "../http/refusal.ts";
import { type EncodeForm, type EncodeReply, type EncodeTask, encoded } from "./encode-thread.ts";

/** A text up to here is encoded where it is, characters: some milliseconds, whatever stands in it. */
const shortLength = 1 << 13;

/** More characters than a token of any vocabulary has, and than normalisers leave out for one that they keep. */
const charsPerToken = 256;

/** Whether so many characters may be few enough tokens. */
export function mayFit(numChars: number, contextTokens: number): boolean {
  return numChars <= contextTokens * charsPerToken;
}

/** The refusal of a prompt that is far longer than the context. */
export function farLonger(numChars: number, contextTokens: number): Refusal {
  const got = `far more in ${numChars} characters`;
  return new Refusal(
    "context_length_exceeded",
    `prompt: expected fewer than ${contextTokens} tokens, got ${got}`,
  );
}

/** How a prompt becomes ids. */
interface PromptReader {
  readonly tokenizer: Pick<Tokenizer, "encode"> & { readonly vocabSize?: number | undefined };
  /** Longest conversation of the model. */
  readonly contextTokens: number;
  readonly form: EncodeForm;
}

/**
 * Encodes a prompt, in a time that depends on the context rather than on the text; a long one on a thread of its own, where
 * the tokenizer was loaded from files.
 *
 * @param text - of the prompt
 * @throws Refusal for a text that is far longer than the context
 */
export async function promptIdsOf(text: string, reader: PromptReader): Promise<Int32Array> {
  const { contextTokens: most, tokenizer, form } = reader;
  if (!mayFit(text.length, most)) throw farLonger(text.length, most);
  const path = text.length > shortLength ? pathOf(tokenizer) : undefined;
  const ids =
    path === undefined
      ? idsWithin(text, most, (part) => encoded(part, tokenizer, form))
      : await encodedApart({ path, text, form, most }, tokenizer.vocabSize);
  if (ids !== undefined) return ids;
  throw farLonger(text.length, most);
}

/** A thread for all tokenizers, and who waits for it. */
interface EncodeThread {
  readonly worker: Worker;
  readonly waiting: Map<number, (reply: EncodeReply) => void>;
}

let thread: EncodeThread | undefined;

function startThread(): EncodeThread {
  const worker = new Worker(new URL("encode-thread.js", import.meta.url));
  const waiting: EncodeThread["waiting"] = new Map();
  const settle = (reply: EncodeReply): void => {
    waiting.get(reply.number)?.(reply);
    waiting.delete(reply.number);
    if (waiting.size === 0) worker.unref();
  };
  worker.on("message", settle);
  worker.on("error", ({ message }) => {
    // It is dead; the next text gets another one.
    thread = undefined;
    const failure = { code: "ERR_INTERNAL", message } as const;
    for (const number of waiting.keys()) settle({ number, vocabSize: 0, failure });
  });
  worker.unref();
  return { worker, waiting };
}

let numTasks = 0;

async function encodedApart(
  task: Omit<EncodeTask, "number">,
  vocabSize: number | undefined,
): Promise<Int32Array | undefined> {
  const number = numTasks++;
  thread ??= startThread();
  const { worker, waiting } = thread;
  const reply = await new Promise<EncodeReply>((resolve) => {
    waiting.set(number, resolve);
    worker.ref();
    worker.postMessage({ ...task, number });
  });
  const { failure } = reply;
  if (failure !== undefined) throw new SeekError(failure.code, `prompt: ${failure.message}`);
  if (reply.vocabSize === vocabSize) return reply.ids;
  throw new SeekError(
    "ERR_STATE",
    `${task.path}: its tokenizer was changed since it was loaded; serve it anew`,
  );
}
