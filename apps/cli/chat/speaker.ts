/** Who answers in a chat: a model of this machine, a search agent over it, or a server. */

/** A message of a conversation. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** An answer as it stands in the conversation from then on. */
export interface Reply {
  readonly content: string;
  /** What the reader should know of it, such as that it was cut off. */
  readonly note?: string | undefined;
}

/** Answers. */
export interface Speaker {
  /**
   * Answers the last message.
   *
   * @param messages - the conversation so far
   * @param signal - ends the answer early, which is then what was said so far
   * @returns text as it comes; the answer is the generator's return value
   */
  reply(messages: readonly ChatMessage[], signal: AbortSignal): AsyncGenerator<string, Reply, undefined>;
}
