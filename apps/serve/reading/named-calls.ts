/** Calls that are a name, a mark and arguments as JSON. */
import type { CallForm } from "./reply-format.ts";
import type { Reading } from "./reply-text.ts";
import { acceptWord, closing, json, next, run, space, type Text } from "./steps.ts";

const ofName = /[^\s<>{}[\]"'`|]/;

/**
 * Reads one call behind the mark that begins it. White space may stand between its parts.
 *
 * @returns whether it was read; what was not is held
 */
export function* namedCall(text: Text, { words, end }: CallForm): Reading<boolean> {
  const { before = "", between = "", behind = "", idMark = "" } = words ?? {};
  yield* acceptWord(text, before.trim());
  yield* space(text);
  const name = yield* run(text, ofName);
  if (name === undefined || name === "") return false;
  const id = idMark !== "" && (yield* acceptWord(text, idMark)) ? yield* run(text, ofName) : undefined;
  yield* acceptWord(text, between.trim());
  yield* space(text);
  if ((yield* next(text)) !== "{") return false;
  text.beginCall(name, id);
  if (!(yield* json(text, (part) => text.write("toolArguments", part)))) return false;
  yield* acceptWord(text, behind.trim());
  yield* closing(text, end);
  return true;
}
