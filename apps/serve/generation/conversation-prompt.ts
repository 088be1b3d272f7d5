/** The prompts of conversations: a short one is written where it is, a long one on a thread of its own. */
import { SeekError } from "../../../lib/base/errors.ts";
import { jsonBlocks, jsonText } from "../../../lib/base/slices/json-text.ts";
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import { textOfPrompt } from "../../../lib/text/tokenizers/spelt-marks.ts";
import { pathOf, type Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { Refusal } from "../http/refusal.ts";
import { type AskedPrompt, heldReply, type PromptWriter, writtenPrompt } from "../reading/written-prompt.ts";
import { farLonger, promptIdsOf, shortLength } from "./prompt-ids.ts";
import type { PromptReply } from "./prompt-thread.ts";
import { askThread, refusedMessages } from "./prompt-worker.ts";

/** Writes and encodes. */
type Writer = PromptWriter & { readonly tokenizer: Tokenizer };

/** How a prompt becomes ids. */
interface EncodeOptions {
  /** Longest conversation of the model. */
  readonly contextTokens: number;
  readonly beginsText?: boolean | undefined;
}

/** What a reply begins with. */
interface ReplyBeginning {
  /** i32 [T] */
  readonly ids: Int32Array;
  /** The end of the prompt's text, which tells what the model's reply begins within. */
  readonly end: string;
  /** Of a reply that may call functions. */
  readonly constraint: Constraint | undefined;
}

/** The text of a conversation's prompt. @throws Refusal for what the template refuses */
export async function promptText(asked: AskedPrompt, writer: Writer): Promise<string> {
  const reply = await writtenApart(asked, writer, undefined);
  return textOfPrompt(reply?.text ?? refusing(() => writtenPrompt(asked, writer)));
}

/**
 * The ids of a conversation's prompt, and what a reply to it is held to.
 *
 * @throws Refusal for what the template refuses, and for a prompt that is far longer than the context
 */
export async function replyBeginning(
  asked: AskedPrompt,
  writer: Writer,
  { contextTokens, beginsText }: EncodeOptions,
): Promise<ReplyBeginning> {
  const form = { kind: "prompt", beginsText } as const;
  const reply = await writtenApart(asked, writer, { form, most: contextTokens });
  if (reply === undefined) {
    const text = refusing(() => writtenPrompt(asked, writer));
    const ids = await promptIdsOf(text, { tokenizer: writer.tokenizer, contextTokens, form });
    const end = textOfPrompt(text);
    return { ids, end, constraint: refusing(() => heldReply(asked, writer, end)) };
  }
  const { ids, text = "", numChars = 0, constraint } = reply;
  if (ids === undefined) throw farLonger(numChars, contextTokens);
  return { ids, end: text, constraint };
}

/** The same where schemas become grammars, which may take a hundred times as long as to read them. */
const shortTools = 1 << 10;

type Encoding = Extract<Parameters<typeof askThread>[0], { kind: "write" }>["encoding"];

/** Nothing for a short conversation, and where the tokenizer was loaded from no file. */
async function writtenApart(
  asked: AskedPrompt,
  { template, tokenizer }: Writer,
  encoding: Encoding,
): Promise<PromptReply | undefined> {
  const path = pathOf(tokenizer);
  if (path === undefined) return undefined;
  const most = asked.held === undefined ? shortLength : shortTools;
  if ((await jsonText(asked, most).catch(unwritable)) !== undefined) return undefined;
  const json = await jsonBlocks(asked).catch(unwritable);
  return askThread({ kind: "write", path, json, template: template.parts, encoding }, tokenizer);
}

/** Numbers such as 1e999, which JSON can spell and nobody can write again. */
function unwritable(error: unknown): never {
  if (error instanceof SeekError) throw new Refusal("invalid_request", error.message);
  throw error;
}

/** The result, or the request's fault where a template refuses its messages. */
export function refusing<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof SeekError) throw refusedMessages(error.message);
    throw error;
  }
}
