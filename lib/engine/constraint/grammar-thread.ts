/** The thread of grammars: to read a vocabulary of 150,000 tokens takes a second, which would block the event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { type ErrorCode, messageOf, SeekError } from "../../base/errors.ts";
import { type FollowedText, type GrammarSource, Grammars, type GrammarVocabulary } from "./grammars.ts";

/** A text as it is begun; `text` is its number. */
export interface OpenText {
  readonly text: number;
  readonly source: GrammarSource;
  readonly stopIds: readonly number[];
  /** What it has come to. */
  readonly ids: readonly number[];
}

/** What the thread is asked for. */
export type GrammarTask =
  | ({ readonly kind: "open" } & OpenText)
  | { readonly kind: "restore"; readonly texts: readonly OpenText[] }
  | { readonly kind: "next"; readonly text: number; readonly ids: Int32Array }
  | { readonly kind: "close"; readonly text: number };

/** What came of a task: the next mask, nothing, or an error. */
export interface GrammarReply {
  readonly task: number;
  readonly mask?: Int32Array | undefined;
  readonly failure?: { readonly code: ErrorCode; readonly message: string } | undefined;
}

const grammars = new Grammars(workerData as GrammarVocabulary);
const texts = new Map<number, FollowedText>();

async function open({ text, source, stopIds, ids }: OpenText): Promise<void> {
  const followed = await grammars.open(source, stopIds);
  texts.set(text, followed);
  if (ids.length > 0) await followed.next(Int32Array.from(ids));
}

async function run(task: GrammarTask): Promise<Int32Array | undefined> {
  if (task.kind === "open") await open(task);
  else if (task.kind === "restore") for (const each of task.texts) await open(each);
  else if (task.kind === "next") {
    const text = texts.get(task.text);
    if (text !== undefined) return await text.next(task.ids);
    throw new SeekError("ERR_INTERNAL", "constraint: the thread that followed the text has ended");
  } else {
    texts.get(task.text)?.close();
    texts.delete(task.text);
  }
  return undefined;
}

async function answer({ number, task }: { number: number; task: GrammarTask }): Promise<void> {
  let reply: GrammarReply;
  try {
    reply = { task: number, mask: await run(task) };
  } catch (error) {
    const code = error instanceof SeekError ? error.code : "ERR_INTERNAL";
    reply = { task: number, failure: { code, message: messageOf(error) } };
  }
  parentPort?.postMessage(reply);
}

let last: Promise<void> = Promise.resolve();

// In order: what follows a text comes behind its beginning.
parentPort?.on("message", (asked: { number: number; task: GrammarTask }) => {
  last = last.then(() => answer(asked));
});
