/** The thread of grammars: to read a vocabulary of 150,000 tokens takes a second, which would block the event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { type ErrorCode, messageOf, SeekError } from "../../base/errors.ts";
import { type FollowedText, type GrammarSource, Grammars, type GrammarVocabulary } from "./grammars.ts";

/** What the thread is asked for. A text has the number that it was opened with. */
export type GrammarTask =
  | {
      readonly kind: "open";
      readonly text: number;
      readonly source: GrammarSource;
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
const texts = new Map<number, FollowedText>();

async function run(task: GrammarTask): Promise<Int32Array | undefined> {
  if (task.kind === "open") {
    texts.set(task.text, await grammars.open(task.source, task.stopIds));
    return undefined;
  }
  const text = texts.get(task.text);
  if (task.kind === "next") {
    if (text !== undefined) return await text.next(task.ids);
    throw new SeekError("ERR_INTERNAL", "constraint: the thread that followed the text has ended");
  }
  text?.close();
  texts.delete(task.text);
  return undefined;
}

parentPort?.on("message", async ({ number, task }: { number: number; task: GrammarTask }) => {
  let reply: GrammarReply;
  try {
    reply = { task: number, mask: await run(task) };
  } catch (error) {
    const code = error instanceof SeekError ? error.code : "ERR_INTERNAL";
    reply = { task: number, failure: { code, message: messageOf(error) } };
  }
  parentPort?.postMessage(reply);
});
