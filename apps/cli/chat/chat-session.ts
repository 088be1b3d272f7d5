/** A conversation under way: its messages, who answers, and what was chosen on the way. */
import type { ChatParts, SpeakerChoice } from "./chat-parts.ts";
import type { ChatMessage, Reply, Speaker } from "./speaker.ts";

/** A conversation. */
export class ChatSession {
  readonly parts: ChatParts;
  #choice: SpeakerChoice;
  #speaker: Speaker;
  #system: string | undefined;
  #messages: ChatMessage[] = [];

  private constructor(parts: ChatParts, speaker: Speaker, system: string | undefined) {
    this.parts = parts;
    this.#choice = parts.first;
    this.#speaker = speaker;
    this.#system = system;
  }

  /** Begins one. @throws as `ChatParts.speaker` */
  static async open(parts: ChatParts, system: string | undefined): Promise<ChatSession> {
    return new ChatSession(parts, await parts.speaker(parts.first), system);
  }

  /** Who answers now. */
  get choice(): SpeakerChoice {
    return this.#choice;
  }

  /** The instructions; undefined without any. */
  get system(): string | undefined {
    return this.#system;
  }

  /** The conversation so far, instructions included. */
  get messages(): readonly ChatMessage[] {
    const { system } = this;
    return system === undefined ? this.#messages : [{ role: "system", content: system }, ...this.#messages];
  }

  /** Lets another one answer. @throws as `ChatParts.speaker`; the one before then stays */
  async choose(change: Partial<SpeakerChoice>): Promise<void> {
    const choice = { ...this.#choice, ...change };
    this.#speaker = await this.parts.speaker(choice);
    this.#choice = choice;
  }

  /** Changes the instructions of the conversation. */
  instruct(system: string | undefined): void {
    this.#system = system;
  }

  /** Forgets what was said; the instructions stay. */
  clear(): void {
    this.#messages = [];
  }

  /**
   * Answers a message.
   *
   * @param content - what the user says
   * @param signal - ends the answer early; what was said stays
   * @returns text as it comes, and the reply
   * @throws what the speaker throws; the message is then as if it had not been said
   */
  async *say(content: string, signal: AbortSignal): AsyncGenerator<string, Reply, undefined> {
    const asked: ChatMessage = { role: "user", content };
    const reply = yield* this.#speaker.reply([...this.messages, asked], signal);
    this.#messages.push(asked, { role: "assistant", content: reply.content });
    return reply;
  }
}
