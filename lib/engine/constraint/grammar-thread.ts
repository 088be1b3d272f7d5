/** The thread of grammars: to read a large schema, or a vocabulary of 150,000 tokens, takes tenths of a second, which would block the event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { type ErrorCode, messageOf, SeekError } from "../../base/errors.ts";
import { type Following, Grammars, type GrammarVocabulary } from "./grammars.ts";

/** What the thread is asked for; `text` is the number of a text. */
export type GrammarTask =
  | {
      readonly kind: "open";
      readonly text: number;
      /** JSON of the constraint. */
      readonly source: string;
      readonly stopIds: readonly number[];
    }
  | { readonly kind: "next"; readonly text: number; readonly ids: Int32Array }
  | { readonly kind: "close"; readonly text: number };

/** What came of a task: the next mask, nothing, or an error. */
export interface GrammarReply {
  readonly task: number;
  readonly mask?: Int32Array | undefined;
  readonly failure?: { readonly code: ErrorCode; readonly message: string } | undefined;
}

const grammars = new Grammars(workerData as GrammarVocabulary);
const texts = new Map<number, Following>();

function run(task: GrammarTask): Int32Array | undefined {
  if (task.kind === "open") texts.set(task.text, grammars.open(task.source, task.stopIds));
  else if (task.kind === "next") return (texts.get(task.text) as Following).next(task.ids);
  else texts.delete(task.text);
  return undefined;
}

parentPort?.on("message", ({ number, task }: { number: number; task: GrammarTask }) => {
  let reply: GrammarReply;
  try {
    reply = { task: number, mask: run(task) };
  } catch (error) {
    // A grammar deeper than the stack is the caller's.
    const code =
      error instanceof SeekError ? error.code : error instanceof RangeError ? "ERR_ARGUMENT" : "ERR_INTERNAL";
    reply = { task: number, failure: { code, message: messageOf(error) } };
  }
  parentPort?.postMessage(reply);
});
