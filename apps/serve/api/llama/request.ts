/** `POST /completion`: what llama.cpp's clients ask. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { promptIdsOf } from "../../generation/prompt-ids.ts";
import { listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";
import type { ReplyRequest } from "../../reply/reply.ts";
import type { PromptReader } from "../completions/request.ts";
import { constraintOf } from "../fields/form.ts";
import { drawsOf, samplingFields, samplingOf } from "../fields/sampling.ts";

/** Texts and ids in one prompt, each read by itself. */
const pieces = lazySchema((z) => listField(z.union([z.string(), z.int().min(0)]), { min: 1 }));
const prompt = lazySchema((z) =>
  z.union([z.string(), z.strictObject({ prompt_string: z.string() }), pieces()], {
    error: "expected a text, ids or {prompt_string}",
  }),
);

/** A prompt of either form. */
type Prompt = z.output<ReturnType<typeof prompt>>;

/** One prompt is a list of one; ids and texts side by side are one prompt, texts alone several. */
function listed(value: unknown): unknown {
  if (!Array.isArray(value)) return [value];
  return value.some((each) => typeof each === "number") && value.every((each) => typeof each !== "object")
    ? [value]
    : value;
}

/** An id, or a text of a few tokens. */
const biased = lazySchema((z) => z.string().max(256));
const bias = lazySchema((z) => z.union([z.number(), z.literal(false)]));

/** The fields of a request; a key that is not among them is refused. */
export const llamaRequest = lazySchema((z) =>
  z.strictObject({
    ...samplingFields().omit({ logit_bias: true, repetition_penalty: true }).shape,
    model: z.string().nullish(),
    prompt: z.preprocess(listed, listField(prompt(), { min: 1 })),
    n_predict: z.int().min(-1).nullish(),
    stream: z.boolean().nullish(),
    repeat_penalty: z.number().min(0.01).max(100).nullish(),
    logit_bias: z
      .union([
        z.record(biased(), bias()),
        listField(z.tuple([z.union([z.int(), biased()]), bias()])).transform((pairs) =>
          Object.fromEntries(pairs),
        ),
      ])
      .nullish(),
    grammar: z.string().min(1).nullish(),
    json_schema: z.record(z.string(), z.unknown()).nullish(),
    n_probs: z.int().min(0).max(20).nullish(),
    return_tokens: z.boolean().nullish(),
    response_fields: listField(z.string()).nullish(),
    // Prefixes are always kept, and sequences have no slots.
    cache_prompt: z.boolean().nullish(),
    id_slot: z.int().nullish(),
  }),
);

/** A checked body. */
export type LlamaBody = z.output<ReturnType<typeof llamaRequest>>;

/** The ids of a prompt, with the marks that begin a text unless it begins with ids. */
async function idsOf(given: Prompt, { tokenizer, contextTokens }: PromptReader): Promise<Int32Array> {
  const parts = Array.isArray(given) ? given : [typeof given === "string" ? given : given.prompt_string];
  const ids: number[] = [];
  for (const [i, part] of parts.entries()) {
    const form = { kind: "prompt", beginsText: i === 0 } as const;
    if (typeof part === "string") {
      for (const id of await promptIdsOf(part, { tokenizer, contextTokens, form })) ids.push(id);
    } else if (part < tokenizer.vocabSize) ids.push(part);
    else throw refused(["prompt"], `expected ids below ${tokenizer.vocabSize}, got ${part}`);
  }
  return Int32Array.from(ids);
}

/** Biases by id; a text stands for each of its tokens, and `false` forbids. */
function biasesOf(
  given: NonNullable<LlamaBody["logit_bias"]>,
  { tokenizer }: PromptReader,
): Record<number, number> {
  const entries = Object.entries(given).flatMap(([key, value]) => {
    const ids = /^\d+$/.test(key) ? [Number(key)] : [...tokenizer.encode(key, { parseSpecialTokens: false })];
    return ids.map((id) => [id, value === false ? Number.NEGATIVE_INFINITY : value]);
  });
  return Object.fromEntries(entries);
}

/** What is asked of the model, one request a prompt. @throws Refusal for what contradicts itself, and for an empty prompt */
export async function requestsOf(body: LlamaBody, reader: PromptReader): Promise<ReplyRequest[]> {
  const { logit_bias, n_predict, n_probs, ...drawn } = body;
  const sampling = samplingOf({ ...drawn, repetition_penalty: body.repeat_penalty });
  const shared = {
    ...({ messages: [], tools: [], toolChoice: "none", parallelToolCalls: false, n: 1 } as const),
    ...drawsOf(drawn),
    sampling: logit_bias == null ? sampling : { ...sampling, logitBias: biasesOf(logit_bias, reader) },
    maxTokens: n_predict == null || n_predict < 0 ? undefined : n_predict,
    constraint: constraintOf(body),
    topLogprobs: n_probs == null || n_probs === 0 ? undefined : n_probs,
  };
  const requests: ReplyRequest[] = [];
  for (const [i, each] of body.prompt.entries()) {
    const promptIds = await idsOf(each, reader);
    if (promptIds.length === 0) throw refused(["prompt", i], "expected at least one token, got none");
    requests.push({ ...shared, promptIds });
  }
  return requests;
}
