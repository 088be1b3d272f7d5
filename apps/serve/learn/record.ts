/** What is kept of a reply: what was read and sampled, under which weights, and what it was worth. */
import type { Segment } from "../../../lib/rollout/trajectory.ts";
import type { ReplyEvent } from "../reply/reply.ts";
import type { SampledToken } from "../reply/tokens.ts";

/** A choice of a reply, as it can be trained on. */
export interface RecordedChoice {
  /** Of the reply. */
  readonly id: string;
  readonly choice: number;
  /** The name that was asked. */
  readonly model: string;
  /** Which version of a model that learns answered. */
  readonly version?: number | undefined;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** What was read and sampled, id for id. */
  readonly segments: readonly Pick<Segment, "kind" | "tokens" | "logprobs" | "visible">[];
  /** Of the weights that sampled the first token. */
  readonly weightsVersion: number;
  /** Whether every token was drawn from the policy itself, at temperature 1: only then can it be learnt from. */
  readonly isLearnable: boolean;
}

/** Whose reply is recorded. */
interface RecordedReply {
  readonly id: string;
  readonly model: string;
  readonly version?: number | undefined;
  /** Of an answer to several prompts: the number of this reply's first choice in it. @default 0 */
  readonly firstChoice?: number | undefined;
}

/** Gathers what one choice's events say. */
class Gathered {
  promptIds: Int32Array | undefined;
  readonly tokens: SampledToken[] = [];

  add(event: ReplyEvent): void {
    if (event.type === "start") this.promptIds = event.promptIds;
    if ("tokens" in event) this.tokens.push(...event.tokens);
  }

  /** The prompt and what was sampled behind it. */
  segments(): RecordedChoice["segments"] {
    const ids = Int32Array.from(this.tokens, ({ id }) => id);
    const logprobs = Float32Array.from(this.tokens, ({ logprob }) => logprob);
    const prompt = { kind: "prompt" as const, tokens: this.promptIds ?? new Int32Array() };
    return [prompt, { kind: "policy", tokens: ids, logprobs }];
  }
}

/**
 * Passes a reply on, and records each choice when it ends.
 *
 * @param reply - its events
 * @param of - whose it is
 * @param record - is given each choice that came to its end
 */
export async function* recorded(
  reply: AsyncGenerator<ReplyEvent, void, undefined>,
  of: RecordedReply,
  record: (choice: RecordedChoice) => void,
): AsyncGenerator<ReplyEvent, void, undefined> {
  const { id, model, version, firstChoice = 0 } = of;
  const gathered: Gathered[] = [];
  for await (const event of reply) {
    gathered[event.choice] ??= new Gathered();
    const parts = gathered[event.choice] as Gathered;
    parts.add(event);
    if (event.type === "finish") {
      const segments = event.segments ?? parts.segments();
      const { weightsVersion, drawnFrom } = event;
      const isLearnable = drawnFrom === "policy";
      const choice = firstChoice + event.choice;
      record({ id, choice, model, version, time: Date.now(), segments, weightsVersion, isLearnable });
    }
    yield event;
  }
}
