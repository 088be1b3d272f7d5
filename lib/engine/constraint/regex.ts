/** Regular expressions that a whole text has to match. */
import { SeekError } from "../../base/errors.ts";
import { Pattern } from "./json-schema/pattern.ts";
import { characterClass, Rules } from "./json-schema/rules.ts";

/**
 * The grammar, in GBNF, of the texts that an expression matches as a whole.
 *
 * @throws ERR_ARGUMENT for what is no expression, and for lookaround, back-references and what else no grammar holds to
 */
export function regexGrammar(source: string): string {
  const refuse = (what: string): never => {
    throw new SeekError("ERR_ARGUMENT", `constraint: regex: ${what} is not held to`);
  };
  const rules = new Rules();
  const write = (characters: Parameters<typeof characterClass>[0]): string | undefined =>
    characters.length === 0 ? undefined : characterClass(characters);
  const { text } = new Pattern(source, { rules, write, refuse }).strings();
  return rules.grammar(rules.add("expression", text === "" ? '""' : text));
}
