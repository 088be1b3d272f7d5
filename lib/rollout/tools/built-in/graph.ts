/** A knowledge graph as a tool: the facts around an entity, or how two entities are connected. */
import { checkOptions } from "../../../base/check-options.ts";
import { zod } from "../../../base/on-first-use.ts";
import { type Tool, tool } from "../tool.ts";
import { type ToolWording, wordingKinds } from "./calculator.ts";
import type { Triple } from "./triple.ts";
import { type PathOptions, pathKinds, type TripleStore } from "./triples.ts";

/** What the tool is called, and how much it shows. */
export interface GraphToolOptions extends ToolWording, PathOptions {
  /** Facts around an entity that are shown. @default 20 */
  readonly maxFacts?: number;
}

/**
 * A tool that looks into a knowledge graph. As bare text it is asked with one name, or with two with `->`, `|`, `;` or,
 * where that is no name itself, a comma between them.
 *
 * @param store - the facts
 * @param options - `name`, `@default` "knowledge_graph", `description`, bounds
 * @returns a tool with the input `{entity, to?, relation?}`
 * @example
 * const store = await TripleStore.of([
 *   { head: "radium", relation: "found by", tail: "Marie Curie" },
 *   { head: "Marie Curie", relation: "lived in", tail: "Paris" },
 * ]);
 * const { run } = toolBox([graphTool(store)]);
 * const [{ text }] = await run([{ name: "knowledge_graph", input: "radium -> Paris", text: "" }]);
 * assert.equal(text, "radium --found by--> Marie Curie --lived in--> Paris");
 */
export function graphTool(store: TripleStore, options: GraphToolOptions = {}): Tool {
  checkOptions("graphTool", options, { ...wordingKinds, ...pathKinds, maxFacts: "number" });
  const {
    name = "knowledge_graph",
    description = "Looks into a knowledge graph: the shortest paths between two entities, or the facts around one.",
    maxFacts = 20,
    ...bounds
  } = options;
  return tool({
    name,
    description,
    input: zod().object({
      entity: zod().string().min(1).describe("name of an entity"),
      to: zod().string().min(1).optional().describe("name of another one: shows the paths to it"),
      relation: zod().string().optional().describe("without `to`: facts of this relation only"),
    }),
    fromText: (text) => entitiesIn(store, text),
    run: ({ entity, to, relation }) => {
      const unknown = [entity, to].find((each) => each !== undefined && store.nameOf(each) === undefined);
      if (unknown !== undefined) return unknownText(store, unknown);
      return to === undefined
        ? factsText(store.neighbours(entity), { relation, maxFacts })
        : pathsText(store, entity, to, bounds);
    },
  });
}

function entitiesIn(store: TripleStore, text: string): { readonly entity: string; readonly to?: string } {
  if (store.nameOf(text) !== undefined) return { entity: text };
  const mark = /->|[|;]/.exec(text) ?? /,/.exec(text);
  if (mark === null) return { entity: text };
  const to = text.slice(mark.index + mark[0].length).trim();
  const entity = text.slice(0, mark.index).trim();
  return to === "" || entity === "" ? { entity: entity || to || text } : { entity, to };
}

function unknownText(store: TripleStore, entity: string): string {
  const similar = store.similar(entity, 5);
  const hint = similar.length === 0 ? "" : ` Similar names: ${similar.join(", ")}.`;
  return `There is no entity "${entity}" in the graph.${hint}`;
}

function factsText(
  facts: readonly Triple[],
  { relation, maxFacts }: { readonly relation: string | undefined; readonly maxFacts: number },
): string {
  const wanted = relation?.trim().toLowerCase() ?? "";
  const chosen = wanted === "" ? facts : facts.filter((each) => each.relation.toLowerCase() === wanted);
  if (chosen.length === 0) {
    const relations = [...new Set(facts.map((each) => each.relation))].slice(0, maxFacts).join(", ");
    return `No fact of the relation "${relation}" is known; there are ${relations}.`;
  }
  const more = chosen.length - maxFacts;
  const lines = chosen.slice(0, maxFacts).map((each) => `${each.head} --${each.relation}--> ${each.tail}`);
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function pathsText(store: TripleStore, from: string, to: string, bounds: PathOptions): string {
  const paths = store.paths(from, to, bounds);
  const [start, end] = [store.nameOf(from) ?? from, store.nameOf(to) ?? to];
  if (paths.length === 0)
    return `No path of at most ${bounds.maxHops ?? 4} facts leads from ${start} to ${end}.`;
  if (start === end) return `${start} and ${end} are the same entity.`;
  return paths.map((path) => pathText(start, path)).join("\n");
}

/** Arrows point as the facts do, whichever way the path goes. */
function pathText(start: string, path: readonly Triple[]): string {
  let [text, at] = [start, start];
  for (const { head, relation, tail } of path) {
    const isForward = head === at;
    at = isForward ? tail : head;
    text += isForward ? ` --${relation}--> ${at}` : ` <--${relation}-- ${at}`;
  }
  return text;
}
