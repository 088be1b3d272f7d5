/** Items as the messages that chat templates read. */
import type { Message } from "../../../../../lib/text/templates/chat-template.ts";
import { type CallItem, type CallOutputItem, type Item, type MessageItem, unsealed } from "./item.ts";

/** A turn of the model that may still grow: thoughts come before words, words before calls. */
interface Turn {
  readonly role: "assistant";
  content: string;
  reasoning_content?: string;
  tool_calls?: object[];
}

/** What stands before a summary that took a conversation's place. */
const summaryHeading = "Summary of the conversation so far:\n";

/** The messages so far. */
class Conversation {
  readonly messages: Message[] = [];
  #turn: Turn | undefined;
  /** The function of each call, which some templates print with its output. */
  readonly #names = new Map<string, string>();

  /** Templates know one message of the system, at the beginning. */
  system(text: string): void {
    const last = this.messages.at(-1);
    if (last?.role === "system") this.messages.pop();
    this.#push({ role: "system", content: last?.role === "system" ? `${last.content}\n\n${text}` : text });
  }

  message({ role, content }: MessageItem): void {
    const text = content.map((part) => part.text).join("");
    if (role === "user") this.#push({ role, content: text });
    else if (role === "assistant")
      this.#turnFor(({ content, tool_calls }) => content === "" && !tool_calls).content = text;
    else this.system(text);
  }

  thoughts(text: string): void {
    const turn = this.#turnFor(({ content, tool_calls }) => content === "" && !tool_calls);
    turn.reasoning_content = (turn.reasoning_content ?? "") + text;
  }

  call({ call_id: id, name, arguments: text }: CallItem): void {
    this.#names.set(id, name);
    const turn = this.#turnFor(() => true);
    turn.tool_calls ??= [];
    turn.tool_calls.push({ id, type: "function", function: { name, arguments: text } });
  }

  output({ call_id, output }: CallOutputItem): void {
    const name = this.#names.get(call_id);
    this.#push({
      role: "tool",
      tool_call_id: call_id,
      ...(name === undefined ? {} : { name }),
      content: output,
    });
  }

  #push(message: Message): void {
    this.#turn = undefined;
    this.messages.push(message);
  }

  /** The turn under way, or another one where that has gone too far. */
  #turnFor(goesOn: (turn: Turn) => boolean): Turn {
    if (this.#turn !== undefined && goesOn(this.#turn)) return this.#turn;
    const turn: Turn = { role: "assistant", content: "" };
    this.messages.push(turn as unknown as Message);
    this.#turn = turn;
    return turn;
  }
}

/**
 * A conversation's items as messages. Searches are left out: what an agent found stands in no message of its.
 *
 * @param items - oldest first
 * @param instructions - come before all of them
 */
export function messagesOf(
  items: readonly Item[],
  instructions?: string | null | undefined,
): readonly Message[] {
  const conversation = new Conversation();
  if (instructions != null && instructions !== "") conversation.system(instructions);
  for (const item of items) {
    if (item.type === "message") conversation.message(item);
    else if (item.type === "reasoning") conversation.thoughts(item.content.map(({ text }) => text).join(""));
    else if (item.type === "function_call") conversation.call(item);
    else if (item.type === "function_call_output") conversation.output(item);
    else if (item.type === "compaction")
      conversation.system(summaryHeading + (unsealed(item.encrypted_content) ?? ""));
  }
  return conversation.messages;
}
