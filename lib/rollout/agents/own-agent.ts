/** Agents of one's own: a plain async function over conversations, searches and tools becomes an agent that trains. */
import { mixSeed } from "../../base/seed.ts";
import type { Question } from "../../data/question.ts";
import { defaultLimits, type Limits } from "../limits.ts";
import type { SearchDocuments } from "../seams.ts";
import type { Trajectory } from "../trajectory.ts";
import { type Agent, allOrNone, type RolloutOptions } from "./agent.ts";
import { type Method, Work, type WorkParts } from "./work.ts";

/** What an agent of one's own is made of. */
export interface OwnAgentParts extends Pick<WorkParts, "engine" | "tokenizer" | "chatTemplate"> {
  /** For `work.find`. @default every search fails */
  readonly search?: SearchDocuments;
  /** Turns are the agent's own matter. @default RAG-R1's */
  readonly limits?: Partial<Omit<Limits, "maxTurns">>;
  /** How tokens are drawn. @default temperature 1 */
  readonly sampling?: WorkParts["sampling"];
}

const noSearch: SearchDocuments = async () => {
  throw new Error("this agent was made without a search");
};

/**
 * An agent from a plain async function. The function opens a conversation, lets the policy say something, uses whatever
 * tools it likes, lets the policy hear what came of it, and returns the answer; what was sampled and what was told is
 * recorded for training on the way.
 *
 * @param parts - engine, tokenizer, and what else it needs
 * @param play - answers one question; undefined without an answer. It may be called for any number of questions at once
 * @returns an agent for `evaluate`, and by `rolloutsOf` for `rl`
 * @throws from the agent: what the engine and `play` throw; a tool or search that fails is an undefined result instead
 * @example
 * const own = ownAgent({ engine, tokenizer }, async (work, { question }) => {
 *   const talk = await work.open({ prompt: `${question}\nSay the answer in square brackets.\n` });
 *   const { text } = await talk.say(["]"]);
 *   return /\[(.*)\]/.exec(text)?.[1];
 * });
 * const { turns } = await own({ id: "a", question: "who?", answers: [] }, { seed: 1 });
 * assert.equal(turns, 1);
 */
export function ownAgent(parts: OwnAgentParts, play: Method): Agent {
  const { search = noSearch, sampling = { temperature: 1 } } = parts;
  const whole = { ...parts, search, sampling, limits: { ...defaultLimits, ...parts.limits } };
  return async (question, options = {}) => {
    const work = new Work(whole, question, options);
    try {
      return work.toTrajectory(await play(work, question));
    } finally {
      await work.close();
    }
  };
}

/**
 * The rollouts of any agent, as `rl` asks for them: each sample of a question is a run of its own.
 *
 * @param agent - answers one question; two runs differ by their seeds
 * @returns a function for `task.rollout`; when one run throws, the others are told to stop and are waited for
 * @example
 * const trajectories = await rolloutsOf(agent)(question, { samples: 2, seed: 1 });
 * assert.deepEqual(trajectories.map(({ id }) => id), ["a#0", "a#1"]);
 */
export function rolloutsOf(
  agent: Agent,
): (
  question: Question,
  options: RolloutOptions & { readonly samples: number },
) => Promise<readonly Trajectory[]> {
  return (question, { samples, seed = 0, signal, ...options }) => {
    return allOrNone(signal, (stop) =>
      Array.from({ length: samples }, async (_, sample) => {
        const own = { ...options, seed: mixSeed(seed, question.id, sample), signal: stop };
        return { ...(await agent(question, own)), id: `${question.id}#${sample}` };
      }),
    );
  };
}
