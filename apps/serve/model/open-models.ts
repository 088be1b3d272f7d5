/** The language models of one engine: its own, and the adapters on it, each under a name. */
import { checkOptions, type OptionKinds, optionsOf } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import type { Engine } from "../../../lib/engine/engine.ts";
import { type SamplingOptions, samplingKinds } from "../../../lib/engine/sampling-options.ts";
import type { Adapter } from "../../../lib/model/adapter.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { Admission } from "../generation/admission.ts";
import type { ServedModel } from "../reply/reply.ts";
import { LanguageModel } from "./language-model.ts";

/** What language models are made of. All of it stays the caller's to close. */
export interface LanguageModelOptions {
  /** Of the model itself. */
  readonly name: string;
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  /** Without one, conversations are refused and texts are continued. */
  readonly chatTemplate?: ChatTemplate | undefined;
  /** What the model is sampled through under its own name. @default the adapter that the engine was opened with */
  readonly adapter?: Adapter | undefined;
  /** Further adapters on the engine's model, by name. @default none */
  readonly adapters?: Readonly<Record<string, Adapter>> | undefined;
  /** How tokens are drawn where a request does not say it. @default the engine's defaults */
  readonly sampling?: SamplingOptions | undefined;
  /** Of the chat template, where a request does not say them: `{ enable_thinking: false }`. @default none */
  readonly templateVariables?: Readonly<Record<string, unknown>> | undefined;
  /** Requests that may wait for memory; more are refused with 429. @default 512 */
  readonly maxWaiting?: number | undefined;
}

const kinds: OptionKinds<LanguageModelOptions> = {
  name: "string",
  engine: "object",
  tokenizer: "object",
  chatTemplate: "object",
  adapter: "object",
  adapters: "object",
  sampling: optionsOf<SamplingOptions>(samplingKinds),
  templateVariables: "object",
  maxWaiting: "number",
};

/** The same as {@link languageModels}, for those who know what a language model is made of. */
export function openLanguageModels(options: LanguageModelOptions): [LanguageModel, ...LanguageModel[]] {
  checkOptions("languageModels", options, kinds, ["name", "engine", "tokenizer"]);
  const { name, engine, tokenizer, chatTemplate, adapter, adapters = {}, maxWaiting = 512 } = options;
  const { sampling, templateVariables } = options;
  checkVariables(chatTemplate, templateVariables);
  if (Object.hasOwn(adapters, name)) {
    throw new SeekError("ERR_ARGUMENT", `adapters: ${name}: expected another name than the model's`);
  }
  const admission = new Admission({ engine, maxWaiting });
  const shared = { engine, tokenizer, chatTemplate, admission, sampling, templateVariables };
  return [
    new LanguageModel({ ...shared, id: name, adapter }),
    ...Object.entries(adapters).map(
      ([id, each]) => new LanguageModel({ ...shared, id, parent: name, adapter: each }),
    ),
  ];
}

/** @throws ERR_ARGUMENT for a variable of which the template has not heard */
function checkVariables(
  chatTemplate: ChatTemplate | undefined,
  variables: LanguageModelOptions["templateVariables"] = {},
): void {
  const unknown = Object.keys(variables).find((name) => !chatTemplate?.reads(name));
  if (unknown === undefined) return;
  const why =
    chatTemplate === undefined ? "there is no chat template" : "the chat template reads no such variable";
  throw new SeekError("ERR_ARGUMENT", `templateVariables: ${unknown}: ${why}`);
}

/**
 * Gives an engine's model and adapters the names under which they are served.
 *
 * @param options - see {@link LanguageModelOptions}
 * @returns the model first, then its adapters; they share the engine's memory
 * @throws ERR_ARGUMENT for an adapter by the model's name, and for a variable that the template does not read; ERR_RANGE for a
 *   sampling out of range; ERR_STATE when the engine is closed
 * @example
 * const models = languageModels({ name: "small", engine, tokenizer, chatTemplate });
 * assert.deepEqual(models.map(({ id }) => id), ["small"]);
 */
export function languageModels(options: LanguageModelOptions): ServedModel[] {
  return openLanguageModels(options);
}
