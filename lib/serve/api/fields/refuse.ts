/** Refuses what a request asks for, by the name of the field. */
import { Refusal, type RefusalCode } from "../../http/refusal.ts";

/**
 * A value that cannot be had.
 *
 * @param path - the field, and places within it
 * @param message - what was expected, what came
 */
export function refused(
  path: readonly (string | number)[],
  message: string,
  code: RefusalCode = "invalid_request",
): Refusal {
  const place = path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? key : `.${key}`));
  const issue = { type: "value_error", loc: ["body", ...path], msg: message };
  return new Refusal(code, `${place.join("")}: ${message}`, { issues: [issue] });
}
