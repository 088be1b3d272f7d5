/** What an engine refuses of a request, as its client hears it. */
import { SeekError } from "../../base/errors.ts";
import { Refusal } from "../http/refusal.ts";

/** Options out of range and contexts that are too long are the request's fault; all else stays what it is. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof SeekError)) return error;
  if (error.code === "ERR_MEMORY") return new Refusal("context_length_exceeded", error.message);
  const isAsked = error.code === "ERR_ARGUMENT" || error.code === "ERR_RANGE";
  return isAsked ? new Refusal("invalid_request", error.message) : error;
}
