/** Reads the action out of one turn of a memory-stack agent. */
import { type Block, firstBlock, type Tags, tagsOf } from "./blocks.ts";
import { type ParseTurn, searchAction } from "./grammar.ts";

/** The tags of each action. */
export interface StackTags {
  readonly plan: Tags;
  readonly reasoning: Tags;
  readonly search: Tags;
  readonly backtrack: Tags;
  readonly summary: Tags;
  readonly answer: Tags;
}

/** Each action in tags of its own name, as in Agentic-RAG-R1. */
const stackTags: StackTags = {
  plan: tagsOf("plan"),
  reasoning: tagsOf("reasoning"),
  search: tagsOf("search"),
  backtrack: tagsOf("backtrack"),
  summary: tagsOf("summary"),
  answer: tagsOf("answer"),
};

const kinds = ["plan", "reasoning", "search", "backtrack", "summary", "answer"] as const;

/**
 * Strings that end a turn: every turn is one action, up to its closing tag.
 *
 * @param tags - around each action, `@default` {@link stackTags}
 * @returns the closing tags, for `Format.turnEnds`
 * @example
 * const format = { ...ragFormat("multi"), turnEnds: stackTurnEnds(), parse: stackParser(), memory: defaultMemory };
 * assert.ok(format.turnEnds.includes("</backtrack>"));
 */
export function stackTurnEnds(tags: StackTags = stackTags): readonly string[] {
  return kinds.map((kind) => tags[kind].close);
}

/**
 * Reads the action that closes first. Takes time linear in the text, for any text, and never throws.
 *
 * @param tags - around each action, `@default` {@link stackTags}
 * @returns a parser for `Format.parse`
 * @example
 * const action = stackParser()("<backtrack> wrong person </backtrack>", {});
 * assert.deepEqual(action.kind === "backtrack" && action.content, "wrong person");
 */
export function stackParser(tags: StackTags = stackTags): ParseTurn {
  return (turn, options) => {
    let first: { kind: (typeof kinds)[number]; block: Block } | undefined;
    for (const kind of kinds) {
      const block = firstBlock(turn, tags[kind]);
      if (block && (first === undefined || block.end < first.block.end)) first = { kind, block };
    }
    if (first === undefined) return { kind: "invalid", reason: "no action" };
    const { kind, block } = first;
    const { content, end } = block;
    if (kind === "search") return searchAction(block, options);
    const start = block.start + tags[kind].open.length;
    return kind === "answer" ? { kind, answer: content, start, end } : { kind, content, start, end };
  };
}
