/** What an engine refuses of a request, as its client hears it. */
import { SeekError } from "../../../lib/base/errors.ts";
import { Refusal, refused } from "../http/refusal.ts";

/** Options that only the engine can check, by the names that protocols have for them. */
const fields: Readonly<Record<string, string>> = { logitBias: "logit_bias", seed: "seed" };

/** Options out of range and contexts that are too long are the request's fault; all else stays what it is. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof SeekError)) return error;
  const { code, message } = error;
  if (code === "ERR_MEMORY") return new Refusal("context_length_exceeded", message);
  if (code !== "ERR_ARGUMENT" && code !== "ERR_RANGE") return error;
  const [, option = "", what = ""] = /^(\w+): (.*)$/s.exec(message) ?? [];
  const field = fields[option];
  return field === undefined ? new Refusal("invalid_request", message) : refused([field], what);
}
