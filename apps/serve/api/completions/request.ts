/** `POST /v1/completions`: what is asked. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { breathe } from "../../../../lib/base/slices/breathe.ts";
import { promptIdsOf } from "../../generation/prompt-ids.ts";
import { idsField, listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";
import type { ModelText, SampleRequest } from "../../reply/reply.ts";
import { streamOptions } from "../chat/request.ts";
import { constraintOf, responseFormat } from "../fields/form.ts";
import { hint, notServed, officialObject } from "../fields/official.ts";
import { drawsOf, samplingFields, samplingOf } from "../fields/sampling.ts";

const ids = lazySchema(() => idsField({ min: 1 }));

/** What becomes of the fields of a request; a key that is not among them is refused. */
export const completionRequest = lazySchema((z) =>
  officialObject({
    ...samplingFields().shape,
    model: z.string().optional(),
    prompt: z.union([z.string(), ids(), listField(z.string(), { min: 1 }), listField(ids(), { min: 1 })]),
    // 0 scores a prompt, with echo and logprobs.
    max_tokens: z.int().min(0).optional(),
    n: z.int().min(1).optional(),
    stream: z.boolean().optional(),
    stream_options: streamOptions().optional(),
    logprobs: z.int().min(0).max(20).optional(),
    echo: z.boolean().optional(),
    return_token_ids: z.boolean().optional(),
    best_of: notServed("expected n: all that is sampled is told", 1),
    suffix: notServed("expected none: models here write on, and fill in nothing", ""),
    // vLLM's and llama.cpp's.
    response_format: responseFormat().optional(),
    grammar: z.string().min(1).optional(),
    add_special_tokens: z.boolean().optional(),
    user: hint(),
  }),
);

/** A checked body. */
export type CompletionBody = z.output<ReturnType<typeof completionRequest>>;

/** What of a model reads prompts. */
export interface PromptReader extends Pick<ModelText, "tokenizer"> {
  readonly contextTokens: number;
}

const isOnePrompt = (prompt: CompletionBody["prompt"]): prompt is string | number[] =>
  typeof prompt === "string" || typeof prompt[0] === "number";

/** How many prompts a request has. */
export const numPrompts = ({ prompt }: CompletionBody): number => (isOnePrompt(prompt) ? 1 : prompt.length);

/** The prompts of a request as ids, each with the marks that begin a text unless told otherwise. */
export async function promptsOf(
  { prompt, add_special_tokens }: CompletionBody,
  reader: PromptReader,
): Promise<Int32Array[]> {
  const isOne = isOnePrompt(prompt);
  const prompts = (isOne ? [prompt] : prompt) as (string | number[])[];
  const beginsText = add_special_tokens ?? true;
  const read: Int32Array[] = [];
  for (const [i, each] of prompts.entries()) {
    const ids = typeof each === "string" ? await encoded(each, reader, beginsText) : checked(each, reader);
    if (ids.length === 0) {
      throw refused(isOne ? ["prompt"] : ["prompt", i], "expected at least one token, got none");
    }
    read.push(ids);
    await breathe();
  }
  return read;
}

function encoded(
  prompt: string,
  { tokenizer, contextTokens }: PromptReader,
  beginsText: boolean,
): Promise<Int32Array> {
  return promptIdsOf(prompt, { tokenizer, contextTokens, form: { kind: "prompt", beginsText } });
}

function checked(prompt: readonly number[], { tokenizer }: PromptReader): Int32Array {
  const wrong = prompt.find((id) => id >= tokenizer.vocabSize);
  if (wrong === undefined) return Int32Array.from(prompt);
  throw refused(["prompt"], `expected ids below ${tokenizer.vocabSize}, got ${wrong}`);
}

/** What is sampled after each prompt. @throws Refusal for what contradicts itself */
export function sampleRequestOf(body: CompletionBody): SampleRequest {
  return {
    // OpenAI's default.
    maxTokens: body.max_tokens ?? 16,
    ...drawsOf(body),
    sampling: samplingOf(body),
    constraint: constraintOf(body),
    n: body.n ?? 1,
    topLogprobs: body.logprobs ?? undefined,
  };
}
