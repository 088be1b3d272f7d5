/** `seekrl/recipes`: published systems as plain options, and the formats they are made of. */

export { type AgenticAccuracy, type AgenticOptions, agenticRagR1 } from "./recipes/agentic-rag-r1.ts";
export { type R1SearcherOptions, r1Searcher } from "./recipes/r1-searcher.ts";
export { ragR1 } from "./recipes/rag-r1.ts";
export { type ReSearchOptions, reSearch } from "./recipes/re-search.ts";
export { optimiserOf, type Recipe, type Training } from "./recipes/recipe.ts";
export { type SearchR1Options, searchR1 } from "./recipes/search-r1.ts";
export type { AgenticLanguage, AgenticTool } from "./rollout/formats/agentic-prompts.ts";
export type { AgenticFormatOptions } from "./rollout/formats/agentic-rag.ts";
export { type Format, type FormatTags, ragFormat } from "./rollout/formats/format.ts";
export type { R1SearcherQueryStyle } from "./rollout/formats/r1-searcher.ts";
export type { ReSearchTemplate } from "./rollout/formats/re-search.ts";
export { type ToolFormatOptions, toolFormat } from "./rollout/formats/tool-format.ts";
export type { Tags } from "./rollout/grammars/blocks.ts";
export type { Action, InvalidReason, ParseOptions, ParseTurn } from "./rollout/grammars/grammar.ts";
export { type StackTags, stackParser, stackTurnEnds } from "./rollout/grammars/stack-grammar.ts";
export { defaultMemory } from "./rollout/memory.ts";
