/** The thread that turns long texts into ids: some megabytes take a second, which would block the event loop. */
import { parentPort } from "node:worker_threads";
import { type ErrorCode, messageOf, SeekError } from "../../base/errors.ts";
import { idsWithin } from "../../text/tokenizers/ids-within.ts";
import { idsOfPrompt } from "../../text/tokenizers/spelt-marks.ts";
import { Tokenizer } from "../../text/tokenizers/tokenizer.ts";

/** How a text is read. */
export type EncodeForm =
  /** A prompt, in which marks that others spelt were cut. */
  | { readonly kind: "prompt"; readonly beginsText?: boolean | undefined }
  | { readonly kind: "text"; readonly addSpecialTokens: boolean; readonly parseSpecialTokens: boolean };

/** What the thread is asked for. */
export interface EncodeTask {
  readonly number: number;
  /** Of the tokenizer. */
  readonly path: string;
  readonly text: string;
  readonly form: EncodeForm;
  /** Tokens beyond which a text is not read to its end. */
  readonly most: number;
}

/** What came of it: ids, or none where there are far too many. */
export interface EncodeReply {
  readonly number: number;
  readonly ids?: Int32Array | undefined;
  readonly vocabSize: number;
  readonly failure?: { readonly code: ErrorCode; readonly message: string } | undefined;
}

/** The ids of a text in a form. */
export function encoded(text: string, tokenizer: Pick<Tokenizer, "encode">, form: EncodeForm): Int32Array {
  if (form.kind === "prompt") return idsOfPrompt(text, tokenizer, form);
  const { addSpecialTokens, parseSpecialTokens } = form;
  return tokenizer.encode(text, { addSpecialTokens, parseSpecialTokens });
}

const tokenizers = new Map<string, Tokenizer>();

/** One that could not be loaded is tried again by the next task. */
async function tokenizerAt(path: string): Promise<Tokenizer> {
  const tokenizer = tokenizers.get(path) ?? (await Tokenizer.load(path));
  tokenizers.set(path, tokenizer);
  return tokenizer;
}

async function answer({ number, path, text, form, most }: EncodeTask): Promise<EncodeReply> {
  try {
    const tokenizer = await tokenizerAt(path);
    const ids = idsWithin(text, most, (part) => encoded(part, tokenizer, form));
    return { number, ids, vocabSize: tokenizer.vocabSize };
  } catch (error) {
    const code = error instanceof SeekError ? error.code : "ERR_INTERNAL";
    return { number, vocabSize: 0, failure: { code, message: messageOf(error) } };
  }
}

let last: Promise<void> = Promise.resolve();

parentPort?.on("message", (task: EncodeTask) => {
  last = last.then(async () => parentPort?.postMessage(await answer(task)));
});
