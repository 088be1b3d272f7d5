/** A conversation that branches: a message that was edited or asked for again stands beside the earlier one. */
import { type Reply, textOf } from "./reply.ts";

/** A message with what it follows. */
export interface ChatMessage {
  readonly id: string;
  /** Null for the first. */
  readonly parent: string | null;
  readonly role: "user" | "assistant";
  /** What a user wrote. */
  readonly content: string;
  /** What a model replied, and its name. */
  readonly reply?: Reply;
  readonly model?: string;
  /** Why a reply ended early. */
  readonly failure?: string;
  readonly rating?: "up" | "down";
}

/** All messages, and which of those beside each other is shown. */
export interface Branches {
  readonly messages: readonly ChatMessage[];
  /** By what they follow, "" for the first. */
  readonly shown: Readonly<Record<string, string>>;
}

/** A conversation without messages. */
export const noMessages: Branches = { messages: [], shown: {} };

/** Messages that stand beside one, itself among them. */
export function besides({ messages }: Branches, parent: string | null): readonly ChatMessage[] {
  return messages.filter((each) => each.parent === parent);
}

/** The messages that are shown, from the first on. */
export function pathOf(branches: Branches): ChatMessage[] {
  const path: ChatMessage[] = [];
  for (let parent: string | null = null; ; ) {
    const children = besides(branches, parent);
    const chosen = children.find(({ id }) => id === branches.shown[parent ?? ""]) ?? children.at(-1);
    if (chosen === undefined) return path;
    path.push(chosen);
    parent = chosen.id;
  }
}

/** With a message more, which is shown. */
export function withMessage(branches: Branches, message: ChatMessage): Branches {
  return {
    messages: [...branches.messages, message],
    shown: { ...branches.shown, [message.parent ?? ""]: message.id },
  };
}

/** With one message changed. */
export function changed(branches: Branches, id: string, change: (old: ChatMessage) => ChatMessage): Branches {
  return { ...branches, messages: branches.messages.map((each) => (each.id === id ? change(each) : each)) };
}

/** With the message so many places on shown in place of one beside it. */
export function turned(branches: Branches, { id, parent }: ChatMessage, by: number): Branches {
  const beside = besides(branches, parent);
  const next = beside[beside.findIndex((each) => each.id === id) + by];
  return next === undefined
    ? branches
    : { ...branches, shown: { ...branches.shown, [parent ?? ""]: next.id } };
}

/** Messages as a request has them. */
export function requestMessages(
  path: readonly ChatMessage[],
  system: string,
): { readonly role: "system" | "user" | "assistant"; readonly content: string }[] {
  const spoken = path.map(({ role, content, reply }) => ({
    role,
    content: role === "user" || reply === undefined ? content : textOf(reply),
  }));
  return system.trim() === "" ? spoken : [{ role: "system", content: system }, ...spoken];
}
