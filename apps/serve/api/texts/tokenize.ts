/** `POST /tokenize` and `POST /detokenize`, as llama.cpp's and vLLM's clients ask for them. */

import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { promptIdsOf } from "../../generation/prompt-ids.ts";
import { idsField } from "../../http/body/list-field.ts";
import type { Call } from "../../http/call.ts";
import { refused } from "../../http/refusal.ts";
import { listOf } from "../../http/slices.ts";
import type { ModelText } from "../../reply/reply.ts";
import { officialObject } from "../fields/official.ts";
import { type Serving, type TextModel, textModelOf } from "../fields/serving.ts";
import { conversationFields, conversationOf, promptOptionsOf } from "./conversation.ts";

/** Of a text: to encode more takes seconds, in which nothing else runs. */
const mostChars = 1 << 20;

/** Either a text, by llama.cpp's name or vLLM's, or a conversation. */
const tokenizeBody = lazySchema((z) =>
  officialObject({
    ...conversationFields().partial().shape,
    content: z.string().max(mostChars).optional(),
    prompt: z.string().max(mostChars).optional(),
    add_special: z.boolean().optional(),
    add_special_tokens: z.boolean().optional(),
    parse_special: z.boolean().optional(),
    with_pieces: z.boolean().optional(),
    return_token_strs: z.boolean().optional(),
  }),
);

type TokenizeBody = ReturnType<ReturnType<typeof tokenizeBody>["parse"]>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A token's text, or its bytes where they are a part of a character. */
function pieceOf(bytes: Uint8Array): string | number[] {
  try {
    return utf8.decode(bytes);
  } catch {
    return [...bytes];
  }
}

/**
 * The ids of what is given: vLLM's `prompt` has marks around it unless it says no, llama.cpp's `content` has none, and a
 * conversation begins as a reply's prompt does.
 */
async function idsOf(body: TokenizeBody, text: ModelText): Promise<Int32Array> {
  const { content, prompt, messages, parse_special: parseSpecialTokens = true } = body;
  const given = [content, prompt, messages].filter((each) => each !== undefined);
  if (given.length !== 1) {
    throw refused(["content"], `expected one of content, prompt and messages, got ${given.length}`);
  }
  const isMarked = body.add_special ?? body.add_special_tokens;
  const { tokenizer } = text;
  if (messages !== undefined) {
    const conversation = { ...body, messages };
    return text.promptIds(conversationOf(conversation), {
      ...promptOptionsOf(conversation),
      beginsText: isMarked,
    });
  }
  const addSpecialTokens = isMarked ?? prompt !== undefined;
  const form = { kind: "text", addSpecialTokens, parseSpecialTokens } as const;
  return promptIdsOf(content ?? prompt ?? "", { tokenizer, contextTokens: mostChars, form });
}

/** A megabyte of text has hundreds of thousands of tokens. */
async function answer(call: Call, body: TokenizeBody, { model, text }: TextModel): Promise<void> {
  const { tokenizer } = text;
  const ids = await idsOf(body, text);
  const piece = (id: number): object => ({ id, piece: pieceOf(spelt(tokenizer, id)) });
  const tokens = listOf(ids, (id) => (body.with_pieces ? piece(id) : id));
  const rest = JSON.stringify({ count: ids.length, max_model_len: model.contextTokens }).slice(1, -1);
  const names = body.return_token_strs
    ? [',"token_strs":', listOf(ids, (id) => tokenizer.tokenOf(id) ?? "")]
    : [];
  await call.answerLong('{"tokens":', tokens, `,${rest}`, ...names, "}");
}

/** A mark has no bytes in a text, but a spelling. */
function spelt(tokenizer: Tokenizer, id: number): Uint8Array {
  return tokenizer.isSpecial(id) ? Buffer.from(tokenizer.tokenOf(id) ?? "") : tokenizer.tokenBytes(id);
}

/** `{content | prompt | messages}` to `{tokens, count, max_model_len}`. */
export function tokenizeRoute(serving: Serving): (call: Call) => Promise<void> {
  return async (call) => {
    const body = await call.read(tokenizeBody(), serving.limits);
    await answer(call, body, textModelOf(serving, body.model));
  };
}

/** Ids of one text: some 30 ms of the event loop. */
const mostIds = 1 << 16;

const detokenizeBody = lazySchema((z) => z.strictObject({ model: z.string().nullish(), tokens: idsField() }));

/** `{tokens}` to `{content, prompt}`, which are the same text under llama.cpp's name and vLLM's. */
export function detokenizeRoute(serving: Serving): (call: Call) => Promise<void> {
  return async (call) => {
    const { model, tokens } = await call.read(detokenizeBody(), serving.limits);
    const { tokenizer } = textModelOf(serving, model).text;
    if (tokens.length > mostIds)
      throw refused(["tokens"], `expected at most ${mostIds} ids, got ${tokens.length}`);
    const wrong = tokens.findIndex((id) => id >= tokenizer.vocabSize);
    if (wrong >= 0) {
      const most = tokenizer.vocabSize - 1;
      throw refused(["tokens", wrong], `expected an id from 0 to ${most}, got ${tokens[wrong]}`);
    }
    const content = tokenizer.decode(tokens);
    call.answer({ content, prompt: content });
  };
}
