/** What a chat template makes of calls, results, tools and system messages, found by rendering some. */
import type { ChatTemplate, Message } from "../../../../lib/text/templates/chat-template.ts";
import { type ReplyFormat, replyFormatOf } from "../reply-format.ts";

/** What a chat template makes of a conversation with functions. */
export interface TemplateFacts {
  /** How its model writes replies. */
  readonly format: ReplyFormat;
  /** Whether it shows the tools it is given. */
  readonly showsTools: boolean;
  /** How it expects the arguments of calls, as JSON text or as objects; nothing where it shows no calls. */
  readonly arguments?: "text" | "object";
  /** Calls that one message may have. */
  readonly maxCalls: number;
  /** A message with calls shows them only without content. */
  readonly isContentApart: boolean;
  /** Ids of calls have 9 letters and digits. */
  readonly hasShortIds: boolean;
  /** Whether it shows messages of the role `tool`. */
  readonly showsResults: boolean;
  /** Whether it takes messages of the role `system`. */
  readonly takesSystem: boolean;
  /** Whether it knows reasoning, which its model may then write. */
  readonly knowsReasoning: boolean;
}

const names = {
  call: "probe_function",
  key: "probe_key",
  value: "probe_value",
  result: "probe_result",
  system: "probe_system",
} as const;

const tool = {
  type: "function",
  function: {
    name: names.call,
    description: "Probes.",
    parameters: { type: "object", properties: { [names.key]: { type: "string", description: "Any." } } },
  },
};

/** A way to write calls. */
interface Way {
  readonly arguments: "text" | "object";
  readonly content: string | null;
  readonly id: string;
  readonly numCalls: number;
}

/** The ways, the preferred first: what the client sent word for word, and nothing that only some templates need. */
const ways: readonly Way[] = (["text", "object"] as const).flatMap((form) =>
  ["", null].map((content) => ({ arguments: form, content, id: "abcdefgh0", numCalls: 1 })),
);

/**
 * Finds out what a chat template makes of calls.
 *
 * @param template - nothing where the model has none
 * @param format - how its model writes replies. @default what the template's source shows
 * @returns the facts, for `messagesFor`
 */
export function templateFacts(
  template: Pick<ChatTemplate, "render" | "sourceWithTools">,
  format: ReplyFormat = replyFormatOf(template.sourceWithTools),
): TemplateFacts {
  // Some templates render only with tools, some only without.
  const shown = (messages: readonly Message[]): string =>
    rendered(template, messages, [tool]) || rendered(template, messages, undefined);
  const shows = (way: Way): boolean => showsCalls(shown(conversation(way)), way);
  const user: Message = { role: "user", content: "Hi" };
  const way = ways.find(shows);
  const facts = {
    format,
    knowsReasoning: template.sourceWithTools.includes(format.reasoning.end),
    showsTools: rendered(template, [user], [tool]).includes(names.call),
    takesSystem: shown([{ role: "system", content: names.system }, user]).includes(names.system),
  };
  if (way === undefined)
    return { ...facts, maxCalls: 0, isContentApart: false, hasShortIds: false, showsResults: false };
  const isContentApart = way.content === null;
  return {
    ...facts,
    arguments: way.arguments,
    maxCalls: shows({ ...way, numCalls: 2 }) ? Number.POSITIVE_INFINITY : 1,
    isContentApart,
    hasShortIds: !shows({ ...way, id: "call_0123456789abcdef" }),
    showsResults: shown([...conversation(way), result(way.id, 0)]).includes(names.result),
  };
}

/** Nothing where the template refuses. */
function rendered(
  template: Pick<ChatTemplate, "render">,
  messages: readonly Message[],
  tools: readonly object[] | undefined,
): string {
  try {
    return template.render(messages, tools === undefined ? {} : { tools });
  } catch {
    return "";
  }
}

function conversation({ arguments: form, content, id, numCalls }: Way): Message[] {
  const args = { [names.key]: names.value };
  const calls = Array.from({ length: numCalls }, (_, i) => ({
    id: `${id.slice(0, -1)}${i}`,
    type: "function",
    function: { name: `${names.call}_${i}`, arguments: form === "object" ? args : JSON.stringify(args) },
  }));
  return [
    { role: "user", content: "Hi" },
    { role: "assistant", content, tool_calls: calls },
  ];
}

function result(id: string, index: number): Message {
  return { role: "tool", name: `${names.call}_${index}`, tool_call_id: id, content: names.result };
}

/** Whether each call stands there, and its arguments neither as text within JSON nor as Python prints objects. */
function showsCalls(text: string, { numCalls }: Way): boolean {
  const areNamed = Array.from({ length: numCalls }, (_, i) => text.includes(`${names.call}_${i}`));
  const numValues = text.split(names.value).length - 1;
  return (
    areNamed.every(Boolean) &&
    numValues >= numCalls &&
    !text.includes(`\\"${names.key}`) &&
    !text.includes(`'${names.key}'`)
  );
}
