/** The thread of long prompts: to write and encode some megabytes takes seconds, which would block the event loop. */
import { parentPort } from "node:worker_threads";
import { type ErrorCode, messageOf, SeekError } from "../../../lib/base/errors.ts";
import { valueOfBlocks } from "../../../lib/base/slices/json-text.ts";
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { idsWithin } from "../../../lib/text/tokenizers/ids-within.ts";
import { textOfPrompt } from "../../../lib/text/tokenizers/spelt-marks.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { ModelStyle } from "../reading/model-style.ts";
import { type AskedPrompt, heldReply, writtenPrompt } from "../reading/written-prompt.ts";
import { type EncodeForm, encoded } from "./encoded.ts";

/** Tokens that are asked for. */
interface Encoding {
  readonly form: EncodeForm;
  /** Tokens beyond which a text is not read to its end. */
  readonly most: number;
}

/** What the thread is asked for. */
export type PromptTask = {
  /** Of the tokenizer. */
  readonly path: string;
  /** JSON of a text, or of an {@link AskedPrompt}. */
  readonly json: readonly Uint8Array<ArrayBuffer>[];
} & (
  | ({ readonly kind: "encode" } & Encoding)
  | {
      readonly kind: "write";
      readonly template: ChatTemplate["parts"];
      /** @default the text alone is asked for */
      readonly encoding?: Encoding | undefined;
    }
);

/** Why there is nothing: of a conversation that cannot be written, or of what reads prompts. */
interface Failure {
  readonly of: "messages" | "prompt";
  readonly code: ErrorCode;
  readonly message: string;
}

/** What came of a task. */
export interface PromptReply {
  /** None where there are far too many, or none were asked for. */
  readonly ids?: Int32Array | undefined;
  /** The prompt as it was written, of which ids go without all but its end. */
  readonly text?: string | undefined;
  /** Of the whole prompt. */
  readonly numChars?: number | undefined;
  /** Of a reply that may call functions. */
  readonly constraint?: Constraint | undefined;
  readonly vocabSize: number;
  readonly failure?: Failure | undefined;
}

const tokenizers = new Map<string, Tokenizer>();

/** One that could not be loaded is tried again by the next task. */
async function tokenizerAt(path: string): Promise<Tokenizer> {
  const tokenizer = tokenizers.get(path) ?? (await Tokenizer.load(path));
  tokenizers.set(path, tokenizer);
  return tokenizer;
}

/** The last one: to find out about a template takes longer than to write with it. */
let style: { readonly key: string; readonly template: ChatTemplate; readonly style: ModelStyle } | undefined;

function styleOf(parts: ChatTemplate["parts"]): {
  readonly template: ChatTemplate;
  readonly style: ModelStyle;
} {
  const key = JSON.stringify(parts);
  if (style?.key === key) return style;
  const template = new ChatTemplate(parts.templates, parts.variables);
  style = { key, template, style: new ModelStyle(template) };
  return style;
}

function done(task: PromptTask, tokenizer: Tokenizer): PromptReply {
  const { vocabSize } = tokenizer;
  const idsOf = (text: string, { form, most }: Encoding): Int32Array | undefined =>
    idsWithin(text, most, (part) => encoded(part, tokenizer, form));
  if (task.kind === "encode") return { ids: idsOf(valueOfBlocks(task.json) as string, task), vocabSize };
  const writer = { ...styleOf(task.template), tokenizer };
  const asked = valueOfBlocks(task.json) as AskedPrompt;
  try {
    const text = writtenPrompt(asked, writer);
    if (task.encoding === undefined) return { text, vocabSize };
    const [ids, end] = [idsOf(text, task.encoding), endOf(text)];
    // What is refused for its length needs no grammar.
    const constraint = ids === undefined ? undefined : heldReply(asked, writer, end);
    return { ids, text: end, numChars: text.length, constraint, vocabSize };
  } catch (error) {
    return failed("messages", error);
  }
}

/** Longer than the marks that begin or end a model's reasoning. */
const endLength = 1000;

const endOf = (text: string): string => textOfPrompt(text.slice(-2 * endLength)).slice(-endLength);

function failed(of: Failure["of"], error: unknown): PromptReply {
  // What is none of ours is told as what went wrong in here.
  const isOurs = error instanceof SeekError;
  const failure = { of: isOurs ? of : "prompt", message: messageOf(error) } as const;
  return { vocabSize: 0, failure: { ...failure, code: isOurs ? error.code : "ERR_INTERNAL" } };
}

async function answer(task: PromptTask): Promise<PromptReply> {
  const { path } = task;
  try {
    return done(task, await tokenizerAt(path));
  } catch (error) {
    return failed("prompt", error);
  }
}

parentPort?.on("message", async (task: PromptTask) => parentPort?.postMessage(await answer(task)));
