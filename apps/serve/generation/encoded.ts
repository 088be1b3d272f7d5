/** The ids of a text, as prompts and as plain texts are read. */
import { idsOfPrompt } from "../../../lib/text/tokenizers/spelt-marks.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";

/** How a text is read. */
export type EncodeForm =
  /** A prompt, in which marks that others spelt were cut. */
  | { readonly kind: "prompt"; readonly beginsText?: boolean | undefined }
  | { readonly kind: "text"; readonly addSpecialTokens: boolean; readonly parseSpecialTokens: boolean };

/** The ids of a text in a form. */
export function encoded(text: string, tokenizer: Pick<Tokenizer, "encode">, form: EncodeForm): Int32Array {
  if (form.kind === "prompt") return idsOfPrompt(text, tokenizer, form);
  const { addSpecialTokens, parseSpecialTokens } = form;
  return tokenizer.encode(text, { addSpecialTokens, parseSpecialTokens });
}
