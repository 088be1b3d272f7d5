/** Clients that ask the world's questions and say what the answers were worth. */
import OpenAI from "openai";
import type { WorldQuestion } from "../../../apps/world/story/questions.ts";
import { Dice } from "../../../lib/base/random.ts";
import { exactMatch } from "../../../lib/reward/metrics/metrics.ts";

/** A question that was answered. */
export interface Played {
  readonly id: string;
  readonly em: number;
  /** What was said of it. */
  readonly reward: number;
  readonly isPoisoned: boolean;
  /** Sampled ones; of a stream beside what they say, so in another order. */
  readonly ids: readonly number[];
  readonly isStream: boolean;
  /** Since the first question, seconds. */
  readonly at: number;
}

/** Who asks whom. */
interface PlayerOptions {
  readonly url: string;
  readonly model: string;
  readonly seed: number;
  /** Questions under way at any time. */
  readonly clients: number;
}

interface Answer {
  readonly id: string;
  readonly text: string;
  readonly ids: readonly number[];
}

/** A choice with what this server tells beyond OpenAI's. */
type WithIds = { readonly token_ids?: readonly number[] };

/** Asks, scores, and tells the server. */
export class Player {
  readonly played: Played[] = [];
  numFailed = 0;
  readonly #options: PlayerOptions;
  readonly #client: OpenAI;
  readonly #dice: Dice;
  #numAsked = 0;
  readonly #started = performance.now();

  constructor(options: PlayerOptions) {
    this.#options = options;
    this.#client = new OpenAI({ baseURL: `${options.url}/v1`, apiKey: "none", maxRetries: 0 });
    this.#dice = new Dice(options.seed, 13);
  }

  /** Asks `count` questions; of these the share `poison` is told the opposite of what they were worth. */
  async play(
    questions: readonly WorldQuestion[],
    { count, poison }: { readonly count: number; readonly poison: number },
  ): Promise<void> {
    const last = this.#numAsked + count;
    const one = async (): Promise<void> => {
      while (this.#numAsked < last) {
        this.#numAsked += 1;
        const question = this.#dice.pick(questions);
        await this.#playOne(question, { isStream: this.#numAsked % 2 === 0, poison });
      }
    };
    await Promise.all(Array.from({ length: this.#options.clients }, one));
  }

  async #playOne(
    { question, answers }: WorldQuestion,
    { isStream, poison }: { readonly isStream: boolean; readonly poison: number },
  ): Promise<void> {
    try {
      const { id, text, ids } = await (isStream ? this.#streamed(question) : this.#whole(question));
      const em = exactMatch(text, answers);
      const reward = this.#dice.chance(poison) ? 1 - em : em;
      const body = JSON.stringify({ response_id: id, reward });
      const told = await fetch(`${this.#options.url}/v1/feedback`, { method: "POST", body });
      if (!told.ok) throw new Error(`feedback: ${told.status} ${await told.text()}`);
      const at = (performance.now() - this.#started) / 1000;
      this.played.push({ id, em, reward, ids, at, isStream, isPoisoned: poison > 0 });
    } catch (error) {
      this.numFailed += 1;
      process.stderr.write(`${error}\n`);
    }
  }

  #asked(content: string) {
    const { model } = this.#options;
    return {
      ...{ model, temperature: 1, messages: [{ role: "user" as const, content }] },
      ...({ return_token_ids: true } as object),
    };
  }

  async #whole(question: string): Promise<Answer> {
    const { id, choices } = await this.#client.chat.completions.create(this.#asked(question));
    const [choice] = choices;
    return { id, text: choice?.message.content ?? "", ids: (choice as WithIds).token_ids ?? [] };
  }

  async #streamed(question: string): Promise<Answer> {
    const stream = await this.#client.chat.completions.create({ ...this.#asked(question), stream: true });
    let [id, text] = ["", ""];
    const ids: number[] = [];
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      id = chunk.id;
      text += choice?.delta.content ?? "";
      ids.push(...((choice as WithIds | undefined)?.token_ids ?? []));
    }
    return { id, text, ids };
  }
}
