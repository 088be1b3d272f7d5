/** Conversations with functions in the form that a model's chat template was made for. */
import { createHash } from "node:crypto";
import { SeekError } from "../../../../lib/base/errors.ts";
import type { Message } from "../../../../lib/text/templates/chat-template.ts";
import type { CallableFunction } from "../reply-format.ts";
import { type WrittenCall, writeCalls } from "../write-calls.ts";
import { systemText } from "./system-text.ts";
import type { TemplateFacts } from "./template-facts.ts";

/** What a chat template is rendered with. */
export interface Conversation {
  readonly messages: readonly Message[];
  /** As templates read them; none where they stand in a system message. */
  readonly tools?: readonly object[];
}

/** A call in OpenAI's form. */
interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: WrittenCall;
}

/**
 * Makes the form that a chat template expects of a conversation in OpenAI's form: arguments as text or objects, ids of 9
 * letters, one call a message, and what the template does not know, tools, calls, results or system messages, as text.
 *
 * @param facts - of the template
 * @param messages - `tool_calls` with arguments as JSON text, and their results in messages of the role `tool`
 * @param tools - the functions that may be called
 * @returns what to render the template with
 * @throws ERR_ARGUMENT for calls that are not of that form
 */
export function messagesFor(
  facts: TemplateFacts,
  messages: readonly Message[],
  tools: readonly CallableFunction[],
): Conversation {
  const named = new Map<unknown, string>();
  const written = messages.flatMap((message, i) => {
    const calls = callsOf(message, `messages[${i}]`);
    for (const {
      id,
      function: { name },
    } of calls)
      named.set(id, name);
    if (message.role === "tool") return [resultMessage(facts, message, named)];
    return calls.length === 0 ? [withoutCalls(message)] : callMessages(facts, message, calls);
  });
  const parted = facts.maxCalls === 1 ? resultsBehindCalls(written) : written;
  const taught =
    tools.length === 0 || facts.showsTools ? parted : withSystem(parted, systemText(facts, tools));
  const whole = facts.takesSystem ? taught : systemAsUser(taught);
  const merged = facts.showsResults && facts.takesSystem ? whole : mergedUsers(whole);
  if (tools.length === 0 || !facts.showsTools) return { messages: merged };
  return { messages: merged, tools: tools.map(toolOf) };
}

function toolOf({
  name,
  description = "",
  parameters = { type: "object", properties: {} },
}: CallableFunction): object {
  return { type: "function", function: { name, description, parameters } };
}

/** Some templates ask whether there is the key, whatever its value. */
function withoutCalls({ tool_calls: _, ...message }: Message): Message {
  return message;
}

function callsOf({ tool_calls: calls }: Message, name: string): ToolCall[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw new SeekError("ERR_ARGUMENT", `${name}.tool_calls: expected a list`);
  return calls.map((call: Partial<ToolCall>, i) => {
    const { name: callee, arguments: args } = call.function ?? {};
    const where = `${name}.tool_calls[${i}].function`;
    if (typeof callee !== "string") throw new SeekError("ERR_ARGUMENT", `${where}.name: expected a string`);
    const text = args === undefined || args === "" ? "{}" : args;
    if (!isObjectText(text))
      throw new SeekError("ERR_ARGUMENT", `${where}.arguments: expected the JSON text of an object`);
    return { id: String(call.id ?? ""), type: "function", function: { name: callee, arguments: text } };
  });
}

function isObjectText(text: unknown): text is string {
  try {
    const value: unknown = typeof text === "string" ? JSON.parse(text) : undefined;
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The messages that an assistant's message with calls becomes. */
function callMessages(facts: TemplateFacts, message: Message, calls: readonly ToolCall[]): Message[] {
  const { content, tool_calls: _, ...rest } = message;
  if (facts.arguments === undefined) {
    const text = [
      content,
      writeCalls(
        facts.format.calls,
        calls.map((call) => call.function),
      ),
    ];
    return [{ ...rest, content: text.filter((part) => typeof part === "string" && part !== "").join("\n") }];
  }
  const made = calls.map(({ id, type, function: { name, arguments: args } }) => {
    const form = facts.arguments === "object" ? (JSON.parse(args) as object) : args;
    return { id: idFor(facts, id), type, function: { name, arguments: form } };
  });
  const hasContent = typeof content === "string" && content !== "";
  const size = Math.min(made.length, facts.maxCalls);
  const groups = Array.from({ length: made.length / size }, (_, i) => made.slice(i * size, (i + 1) * size));
  if (facts.isContentApart) {
    const before = hasContent ? [{ ...rest, content }] : [];
    return [...before, ...groups.map((group) => ({ ...rest, content: null, tool_calls: group }))];
  }
  return groups.map((group, i) => ({
    ...rest,
    content: i === 0 && hasContent ? content : "",
    tool_calls: group,
  }));
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The same id always becomes the same 9 letters. */
function idFor({ hasShortIds }: TemplateFacts, id: string): string {
  if (!hasShortIds || /^[A-Za-z0-9]{9}$/.test(id)) return id;
  const digest = createHash("sha256").update(id).digest().subarray(0, 9);
  return [...digest].map((byte) => letters[byte % letters.length]).join("");
}

function resultMessage(facts: TemplateFacts, message: Message, named: ReadonlyMap<unknown, string>): Message {
  const { tool_call_id: id, name = named.get(id), content = "" } = message;
  if (!facts.showsResults) {
    return { role: "user", content: `<tool_response>\n${content}\n</tool_response>` };
  }
  const known = name === undefined ? {} : { name };
  return {
    ...message,
    ...known,
    content,
    ...(typeof id === "string" ? { tool_call_id: idFor(facts, id) } : {}),
  };
}

/** Each result behind the message of its call, where a message has one call only. */
function resultsBehindCalls(messages: readonly Message[]): Message[] {
  const idOf = ({ tool_calls: calls }: Message): unknown =>
    (calls as ToolCall[] | undefined)?.[0]?.id || undefined;
  const results = new Map<unknown, Message[]>(messages.map((message) => [idOf(message), []]));
  results.delete(undefined);
  const others = messages.filter((message) => {
    const own = message.role === "tool" ? results.get(message.tool_call_id) : undefined;
    own?.push(message);
    return own === undefined;
  });
  return others.flatMap((message) => [message, ...(results.get(idOf(message)) ?? [])]);
}

/** Puts a text at the end of the system message, which is the first one. */
function withSystem(messages: readonly Message[], text: string): Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: text }, ...messages];
  return [{ ...first, content: [first.content, text].filter((part) => part !== "").join("\n\n") }, ...rest];
}

function systemAsUser(messages: readonly Message[]): Message[] {
  return messages.map((message) => (message.role === "system" ? { ...message, role: "user" } : message));
}

/** Neighbouring messages of the user as one: templates that know few roles expect them to alternate. */
function mergedUsers(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const isSame = last?.role === "user" && message.role === "user";
    if (isSame) merged[merged.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` };
    else merged.push(message);
  }
  return merged;
}
