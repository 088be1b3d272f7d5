/** Cuts what a policy of Agentic-RAG-R1 wrote into its blocks, and says what is wrong with it. */

/** The actions of the policy, and the observation that only the environment writes. */
export const agenticTags = [
  "plan",
  "reasoning",
  "search",
  "observation",
  "backtrack",
  "summary",
  "answer",
] as const;

/** What stands between a pair of tags. */
type AgenticTag = (typeof agenticTags)[number];

/** One complete action of a turn. */
interface AgenticBlock {
  readonly tag: AgenticTag;
  /** Where its opening tag begins, and where its closing tag ends. */
  readonly start: number;
  readonly end: number;
  /** Trimmed. */
  readonly content: string;
}

/** A turn, block by block. */
interface AgenticBlocks {
  /** The complete blocks that stand in no other one. */
  readonly blocks: readonly AgenticBlock[];
  /** The first thing that should not be there; undefined when every word stands in one block. */
  readonly fault?: string;
}

const mark = new RegExp(`<(/?)(${agenticTags.join("|")})>`, "g");

/**
 * Cuts a turn into its blocks. Takes time linear in the text, for any text.
 *
 * @param text - what the policy wrote in one turn
 * @returns blocks, and the first fault: words outside, a tag inside of another one, a tag without its partner
 * @example
 * const { blocks, fault } = agenticBlocks("<reasoning> ? </reasoning>\n<search> [Wiki_RAG] Rome </search>");
 * assert.deepEqual([blocks.map(({ tag }) => tag), fault], [["reasoning", "search"], undefined]);
 */
export function agenticBlocks(text: string): AgenticBlocks {
  const blocks: AgenticBlock[] = [];
  const faults: string[] = [];
  let open: { readonly tag: AgenticTag; readonly start: number; readonly inside: number } | undefined;
  let last = 0;
  for (const match of text.matchAll(mark)) {
    const [whole, slash, name] = match;
    const tag = name as AgenticTag;
    const end = match.index + whole.length;
    if (open === undefined && text.slice(last, match.index).trim() !== "")
      faults.push("words outside of tags");
    if (slash === "" && open === undefined) open = { tag, start: match.index, inside: end };
    else if (slash !== "" && open?.tag === tag) {
      const { start, inside } = open;
      blocks.push({ tag, start, end, content: text.slice(inside, match.index).trim() });
      open = undefined;
    } else
      faults.push(
        open === undefined ? `</${tag}> closes nothing` : `${whole} stands inside of <${open.tag}>`,
      );
    last = end;
  }
  if (open !== undefined) faults.push(`<${open.tag}> is not closed`);
  else if (text.slice(last).trim() !== "") faults.push("words outside of tags");
  return { blocks, fault: faults[0] };
}
