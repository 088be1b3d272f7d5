/** The search agent: a plain async function over a token sequence and a search. */
import type { TokenSequence } from "../seams.ts";
import { playStack } from "../stack/stack.ts";
import type { StopReason, Trajectory } from "../trajectory.ts";
import { Conversation } from "../turns/conversation.ts";
import type { Environment, OpenedPrompt, RolloutSignals } from "../turns/environment.ts";

/**
 * Lets the policy think, search and answer until it answers or meets a limit.
 *
 * @param sequence - holds the prompt and nothing more; it stays open
 * @param prompt - what the sequence holds
 * @param environment - tokenizer, search, format and limits
 * @param options - `signal` ends the trajectory with the stop reason `aborted`; `onDocuments` hears what is found
 * @returns the trajectory; its policy tokens are the sampled ones, unchanged (law 1)
 * @throws whatever the sequence throws; a failing search is an observation instead. ERR_ARGUMENT when the format has a
 *   memory stack and the sequence cannot forget
 * @example
 * const text = "Question: who?";
 * const prompt = { id: "a", questionId: "a", text, tokens: tokenizer.encode(text) };
 * const { format, limits: published, sampling } = ragR1({ queries: "single" });
 * const limits = { ...published, maxTokens: engine.maxTokens };
 * const sequence = engine.open(prompt.tokens, { seed: 1 });
 * const { stop } = await rollout(sequence, prompt, { tokenizer, search, format, limits, sampling });
 * sequence.close();
 */
export async function rollout(
  sequence: TokenSequence,
  prompt: OpenedPrompt,
  environment: Environment,
  signals: RolloutSignals = {},
): Promise<Trajectory> {
  const { memory } = environment.format;
  const talk = new Conversation(sequence, prompt, environment, signals);
  if (memory !== undefined) return await playStack(talk, memory);
  return talk.toTrajectory(await play(talk));
}

async function play(talk: Conversation): Promise<StopReason> {
  const { format } = talk.environment;
  for (;;) {
    const early = talk.stopBefore();
    if (early) return early;
    const { stop, text } = await talk.generate();
    if (stop === "aborted") return stop;
    const action = format.parse(text, format);
    if (action.kind === "answer" || action.kind === "end") return talk.conclude(action.answer, stop);
    const ended = talk.stopAfter(action, stop) ?? (await talk.observe(await talk.respond(action)));
    if (ended) return ended;
  }
}
