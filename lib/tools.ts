/** `seekrl/tools`: what an agent may call, the box that runs the calls, and how they are written. */

export type { McpAddress, McpCommand, McpPlace } from "../connectors/tools/mcp/connection.ts";
export { type McpOptions, McpServer } from "../connectors/tools/mcp/server.ts";
export { type PageToolOptions, pageTool } from "../connectors/tools/page.ts";
export {
  type BracketOptions,
  bracketTools,
  parseBracketCall,
  parseBracketCalls,
} from "./rollout/tools/bracket-calls.ts";
export { calculatorTool, type ToolWording } from "./rollout/tools/built-in/calculator.ts";
export { type DocumentToolOptions, documentTool } from "./rollout/tools/built-in/document.ts";
export { type GraphToolOptions, graphTool } from "./rollout/tools/built-in/graph.ts";
export { Library, type Shelved } from "./rollout/tools/built-in/library.ts";
export { type SearchToolOptions, searchTool } from "./rollout/tools/built-in/search.ts";
export type { Triple } from "./rollout/tools/built-in/triple.ts";
export { type PathOptions, TripleStore } from "./rollout/tools/built-in/triples.ts";
export { parseJsonCall } from "./rollout/tools/json-calls.ts";
export {
  type BoundCall,
  type JsonSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolOutput,
  tool,
} from "./rollout/tools/tool.ts";
export {
  type RunToolsOptions,
  type ToolBox,
  type ToolBoxOptions,
  type ToolCall,
  type ToolFailure,
  type ToolFailureKind,
  type ToolResult,
  toolBox,
} from "./rollout/tools/tool-box.ts";
