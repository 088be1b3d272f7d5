/** Whether a text is one of a grammar. */
import { Automaton, type State } from "../../../lib/engine/constraint/grammar/automaton.ts";
import { readGrammar } from "../../../lib/engine/constraint/grammar/gbnf.ts";

/** What takes the texts of a grammar in GBNF, and no others. */
export function taker(grammar: string): (text: string) => boolean {
  const automaton = new Automaton(readGrammar(grammar));
  return (text) => {
    automaton.begin();
    let state: State | undefined = automaton.start;
    for (const byte of Buffer.from(text)) state = state && automaton.next(state, byte);
    return state?.isWhole === true;
  };
}
