/** The AI SDK's calls as requests to a served model. */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { checkOptions, type OptionKinds } from "../../../lib/base/check-options.ts";
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import type { Message } from "../../../lib/text/templates/chat-template.ts";
import { refused } from "../http/refusal.ts";
import type { AgentBudget, FunctionDefinition, ReplyRequest, ToolChoice } from "../reply/reply.ts";
import { providerName } from "./encoders.ts";

const budgetKinds: OptionKinds<AgentBudget> = { maxSearches: "number", topK: "number", deadlineMs: "number" };

/**
 * What a call asks for.
 *
 * @param options - as the SDK gives them
 * @throws Refusal for files and for tools of providers; ERR_ARGUMENT for unknown provider options
 */
export function requestOf(options: LanguageModelV4CallOptions): ReplyRequest {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, maxOutputTokens } = options;
  const { stopSequences = [], seed, providerOptions } = options;
  const sampling = { temperature, topP, topK, presencePenalty, frequencyPenalty };
  return {
    messages: options.prompt.flatMap(messagesOf),
    tools: toolsOf(options.tools),
    toolChoice: toolChoiceOf(options.toolChoice),
    parallelToolCalls: true,
    constraint: constraintOf(options.responseFormat),
    templateVariables: variablesOf(options.reasoning),
    maxTokens: maxOutputTokens,
    stop: stopSequences,
    sampling: Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined)),
    ...{ seed, n: 1 },
    budget: checkOptions("providerOptions.seekrl", providerOptions?.[providerName] ?? {}, budgetKinds),
  };
}

type Asked = LanguageModelV4Prompt[number];

/** A message, or one for each result of a tool. */
function messagesOf(message: Asked, place: number): Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: message.content.map((part, i) => textOf(part, place, i)).join("") }];
    case "assistant":
      return [assistantOf(message.content, place)];
    case "tool":
      return message.content.flatMap((part) => (part.type === "tool-result" ? [resultOf(part)] : []));
  }
}

function textOf(part: { readonly type: string; readonly text?: string }, place: number, i: number): string {
  if (part.type === "text" && part.text !== undefined) return part.text;
  throw refused(
    ["prompt", place, "content", i, "type"],
    `expected text, got ${part.type}: this model reads texts`,
  );
}

type AssistantPart = Extract<Asked, { role: "assistant" }>["content"][number];

/** Calls that an agent ran itself are its own, and what they found is not told again. */
function assistantOf(parts: readonly AssistantPart[], place: number): Message {
  let [content, reasoning] = ["", ""];
  const calls: object[] = [];
  for (const [i, part] of parts.entries()) {
    if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call") {
      const call = { name: part.toolName, arguments: JSON.stringify(part.input) };
      if (!part.providerExecuted) calls.push({ id: part.toolCallId, type: "function", function: call });
    } else if (part.type !== "tool-result") content += textOf(part, place, i);
  }
  return {
    ...{ role: "assistant", content },
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

type ToolResult = Extract<Extract<Asked, { role: "tool" }>["content"][number], { type: "tool-result" }>;

function resultOf({ toolCallId, toolName, output }: ToolResult): Message {
  return { role: "tool", tool_call_id: toolCallId, name: toolName, content: outputText(output) };
}

function outputText(output: ToolResult["output"]): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "The call was not allowed.";
    case "content":
      return output.value.map((part, i) => textOf(part, 0, i)).join("");
  }
}

function toolsOf(tools: LanguageModelV4CallOptions["tools"] = []): FunctionDefinition[] {
  return tools.map((tool, i) => {
    if (tool.type !== "function") {
      throw refused(
        ["tools", i],
        `expected functions, got ${tool.id}: this provider has no tools of its own`,
      );
    }
    const { name, description, inputSchema, strict } = tool;
    return { name, description, parameters: inputSchema as FunctionDefinition["parameters"], strict };
  });
}

function toolChoiceOf(choice: LanguageModelV4CallOptions["toolChoice"]): ToolChoice {
  if (choice === undefined) return "auto";
  return choice.type === "tool" ? { name: choice.toolName } : choice.type;
}

function constraintOf(format: LanguageModelV4CallOptions["responseFormat"]): Constraint | undefined {
  if (format?.type !== "json") return undefined;
  return { jsonSchema: format.schema ?? { type: "object" } };
}

/** Of chat templates that know thinking; others pass over them. */
function variablesOf(
  reasoning: LanguageModelV4CallOptions["reasoning"] = "provider-default",
): Record<string, unknown> | undefined {
  if (reasoning === "provider-default") return undefined;
  if (reasoning === "none") return { enable_thinking: false };
  return { enable_thinking: true, reasoning_effort: reasoning };
}
