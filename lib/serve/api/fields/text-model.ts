/** Which model's tokenizer and template are asked. */

import { refused } from "../../http/refusal.ts";
import type { ModelText, ServedModel } from "../../reply/reply.ts";
import type { Serving } from "./serving.ts";

/** A model with a text of its own. */
export interface TextModel {
  readonly model: ServedModel;
  readonly text: ModelText;
}

/**
 * The model that a request names, or the first one.
 *
 * @throws Refusal for an unknown name, and for an agent, which reads prompts of its own making
 */
export function textModelOf({ models }: Serving, id: string | null | undefined): TextModel {
  const model = models.find(id);
  if (model.text !== undefined) return { model, text: model.text };
  throw refused(["model"], `expected a language model, got ${model.id}: agents read prompts of their own`);
}
