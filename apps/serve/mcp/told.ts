/** Answers of tools as the protocol has them; what fails is told as failed, and why it did is no client's business. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { Refusal } from "../http/refusal.ts";
import type { McpToolParts } from "./parts.ts";

/** What a tool says, and the same as data. */
export interface ToolAnswer {
  readonly text: string;
  readonly structured?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the call asked for what there is not. */
  readonly isError?: boolean | undefined;
}

/**
 * Runs a tool.
 *
 * @param tool - its name
 * @param parts - who is told of faults
 * @param run - the work
 * @returns the result; one that says that it failed where `run` throws
 */
export async function told(
  tool: string,
  { onFault }: McpToolParts,
  run: () => Promise<ToolAnswer>,
): Promise<CallToolResult> {
  try {
    const { text, structured, isError } = await run();
    const content = [{ type: "text" as const, text }];
    return {
      content,
      ...(structured && { structuredContent: structured as Record<string, never> }),
      ...(isError && { isError }),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) onFault?.(tool, error);
    const text = error instanceof Refusal ? error.message : `${tool} failed.`;
    return { content: [{ type: "text", text }], isError: true };
  }
}
