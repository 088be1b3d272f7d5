/** Anthropic's messages as the messages that chat templates read. */
import type { Message } from "../../../../lib/text/templates/chat-template.ts";
import { refused } from "../../http/refusal.ts";
import type { AssistantBlock, UserBlock } from "./blocks.ts";
import type { CountBody } from "./body.ts";

type Blocks = readonly { readonly type: string }[];

/** The texts among blocks, joined as they would be printed. */
function textOf(blocks: Blocks): string {
  const textIn = (block: Blocks[number]): string => {
    if ("text" in block) return String(block.text);
    return "tool_name" in block ? String(block.tool_name) : "";
  };
  return blocks.map(textIn).join("");
}

/** An assistant's turn: thoughts, text and calls beside each other. */
function assistantMessage(blocks: readonly AssistantBlock[]): Message {
  const thoughts = blocks.flatMap((block) => (block.type === "thinking" ? [block.thinking] : []));
  const calls = blocks.flatMap((block) => {
    if (block.type !== "tool_use") return [];
    const { id, name, input = "{}" } = block;
    return [{ id, type: "function", function: { name, arguments: input } }];
  });
  return {
    role: "assistant",
    content: textOf(blocks),
    ...(thoughts.length > 0 ? { reasoning_content: thoughts.join("\n") } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

/** The names of the calls so far, by their ids. */
type CallNames = Map<string, string>;

function toolMessage(
  block: UserBlock & { type: "tool_result" },
  names: CallNames,
  path: readonly (string | number)[],
): Message {
  const name = names.get(block.tool_use_id);
  if (name === undefined) {
    const got = block.tool_use_id.slice(0, 100);
    throw refused([...path, "tool_use_id"], `expected the id of a tool_use block before it, got ${got}`);
  }
  const text = textOf(block.content ?? []);
  // Templates have no place for the mark, and the model has to know.
  const content = block.is_error === true ? `Error: ${text}` : text;
  return { role: "tool", tool_call_id: block.tool_use_id, name, content };
}

/** A user's turn: what tools answered belongs to the calls before it, and comes first. */
function userMessages(
  blocks: readonly UserBlock[],
  names: CallNames,
  path: readonly (string | number)[],
): Message[] {
  const results = blocks.flatMap((block, i) =>
    block.type === "tool_result" ? [toolMessage(block, names, [...path, i])] : [],
  );
  const isSaid = results.length === 0 || blocks.some(({ type }) => type === "text");
  return isSaid ? [...results, { role: "user", content: textOf(blocks) }] : results;
}

/** Turns of one side in a row are one turn, as Anthropic reads them. */
function joined(messages: readonly Message[]): Message[] {
  const turns: Message[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    const isSame = last?.role === message.role && (message.role === "user" || message.role === "system");
    if (!isSame || last === undefined) turns.push(message);
    else turns[turns.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` };
  }
  return turns;
}

/**
 * The conversation of a checked body.
 *
 * @throws Refusal for a tool's answer without its call
 */
export function conversationOf({ system, messages }: CountBody): Message[] {
  const names: CallNames = new Map();
  const turns = messages.flatMap(({ role, content }, i): Message[] => {
    const path = ["messages", i, "content"];
    if (role === "user") return userMessages(content, names, path);
    if (role === "system") return [{ role, content: textOf(content) }];
    for (const block of content) if (block.type === "tool_use") names.set(block.id, block.name);
    return [assistantMessage(content)];
  });
  return joined([...(system === undefined ? [] : [{ role: "system", content: textOf(system) }]), ...turns]);
}
