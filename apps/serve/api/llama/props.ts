/** `GET /props`: what llama.cpp's clients ask of a server before they ask it for text. */
import type { Call } from "../../http/call.ts";
import { type Serving, textModelOf } from "../fields/serving.ts";
import { settingsOf } from "./settings.ts";

/**
 * The properties of the model that `?model=` names, or of the first one. Of the fields of llama.cpp it has those that are true
 * here: files of the server are nobody's business, and there are no slots to look into.
 */
export function propsRoute(serving: Serving): (call: Call) => void {
  return (call) => {
    const { model, text } = textModelOf(serving, call.query.get("model"));
    const { tokenizer, chatTemplate, maxSequences } = text;
    const spelt = (id: number | undefined): string => (id === undefined ? "" : (tokenizer.tokenOf(id) ?? ""));
    const params = settingsOf(model, { sampling: {}, stop: [] }, false);
    call.answer({
      default_generation_settings: { n_ctx: model.contextTokens, params },
      total_slots: maxSequences,
      model_alias: model.id,
      chat_template: chatTemplate ?? "",
      modalities: { vision: false, audio: false },
      bos_token: spelt(tokenizer.bosId),
      eos_token: spelt(tokenizer.eosIds[0]),
    });
  };
}
