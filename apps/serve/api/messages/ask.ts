/** What a request of Anthropic's asks of a model. */
import type { Constraint } from "../../../../lib/engine/constraint/constraint.ts";
import { refused } from "../../http/refusal.ts";
import type {
  AgentBudget,
  FunctionDefinition,
  ReplyRequest,
  ServedModel,
  ToolChoice,
} from "../../reply/reply.ts";
import { samplingOf } from "../fields/sampling.ts";
import { checkToolChoice } from "../fields/tools.ts";
import type { CountBody, MessagesBody } from "./body.ts";
import { conversationOf } from "./conversation.ts";
import { checkPrefill } from "./prefill.ts";

function toolsOf({ tools = [] }: CountBody): FunctionDefinition[] {
  return tools.flatMap((tool) => {
    if (!("input_schema" in tool)) return [];
    const { name, description, input_schema: parameters, strict } = tool;
    return [{ name, description, parameters, strict }];
  });
}

function choiceOf({ tool_choice: choice }: CountBody): ToolChoice {
  if (choice === undefined) return "auto";
  if (choice.type === "tool") return { name: choice.name };
  return choice.type === "any" ? "required" : choice.type;
}

/** @throws Refusal for Anthropic's search where nothing searches */
function budgetOf({ tools = [] }: CountBody, model: ServedModel): AgentBudget | undefined {
  const place = tools.findIndex((tool) => !("input_schema" in tool));
  const search = tools[place];
  if (search === undefined || "input_schema" in search) return undefined;
  // Only models that read one prompt have a text.
  if (model.text === undefined) return { maxSearches: search.max_uses ?? undefined };
  throw refused(
    ["tools", place, "type"],
    `expected custom, got ${search.type}: of the models here only agents search`,
  );
}

function variablesOf({ thinking, output_config }: CountBody): Record<string, unknown> | undefined {
  const effort = output_config?.effort;
  if (thinking === undefined && effort == null) return undefined;
  return {
    ...(thinking === undefined ? {} : { enable_thinking: thinking.type !== "disabled" }),
    ...(effort == null ? {} : { reasoning_effort: effort }),
  };
}

function constraintOf({ output_config, output_format }: CountBody): Constraint | undefined {
  const schema = (output_config?.format ?? output_format)?.schema;
  return schema === undefined ? undefined : { jsonSchema: schema };
}

/**
 * The request of a checked body.
 *
 * @param body - of either route; one that only counts draws nothing
 * @param model - that is asked
 * @throws Refusal for a choice that no tool meets, a tool's answer without its call, a search where nothing searches
 */
export function askOf(body: CountBody | MessagesBody, model: ServedModel): ReplyRequest {
  const tools = toolsOf(body);
  const drawn: Partial<MessagesBody> = body;
  const { tool_choice: choice } = body;
  const isPrefilled = checkPrefill(body);
  return {
    messages: conversationOf(body),
    continuesLast: isPrefilled,
    tools,
    toolChoice: checkToolChoice(choiceOf(body), tools),
    parallelToolCalls: choice === undefined || choice.type === "none" || !choice.disable_parallel_tool_use,
    templateVariables: variablesOf(body),
    constraint: constraintOf(body),
    budget: budgetOf(body, model),
    maxTokens: drawn.max_tokens,
    stop: drawn.stop_sequences ?? [],
    sampling: samplingOf(drawn),
    n: 1,
  };
}
