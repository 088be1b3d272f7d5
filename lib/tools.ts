/** `seekrl/tools`: what an agent may call, the box that runs the calls, and how they are written. */

export {
  type BracketOptions,
  bracketTools,
  parseBracketCall,
  parseBracketCalls,
} from "./tools/bracket-calls.ts";
export { calculatorTool, type ToolWording } from "./tools/built-in/calculator.ts";
export { type DocumentToolOptions, documentTool } from "./tools/built-in/document.ts";
export { type GraphToolOptions, graphTool } from "./tools/built-in/graph.ts";
export { Library, type Shelved } from "./tools/built-in/library.ts";
export { type PageToolOptions, pageTool } from "./tools/built-in/page.ts";
export { type SearchToolOptions, searchTool } from "./tools/built-in/search.ts";
export type { Triple } from "./tools/built-in/triple.ts";
export { type PathOptions, TripleStore } from "./tools/built-in/triples.ts";
export { parseJsonCall } from "./tools/json-calls.ts";
export type { McpAddress, McpCommand, McpPlace } from "./tools/mcp/connection.ts";
export { type McpOptions, McpServer } from "./tools/mcp/server.ts";
export {
  type BoundCall,
  type JsonSchema,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolOutput,
  tool,
} from "./tools/tool.ts";
export {
  type RunToolsOptions,
  type ToolBox,
  type ToolBoxOptions,
  type ToolCall,
  type ToolFailure,
  type ToolFailureKind,
  type ToolResult,
  toolBox,
} from "./tools/tool-box.ts";
