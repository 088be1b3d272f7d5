/** What of a trajectory a reward reads: the policy's words (law 9), or the whole text as some originals do. */
import { blocksOf, tagsOf } from "../rollout/grammars/blocks.ts";
import { answersIn } from "../rollout/grammars/grammar.ts";
import type { Trajectory } from "../rollout/trajectory.ts";

/** A trajectory as far as its words go. */
export type Spoken = Pick<Trajectory, "segments">;

/**
 * What the policy wrote, turn by turn, with a newline between turns so that no tag arises from two of them.
 *
 * @param trajectory - its segments
 * @returns the policy's words and nothing else
 * @example
 * const said = (text: string) => ({ kind: "policy", tokens: Int32Array.of(1), text }) as const;
 * assert.equal(policyText({ segments: [said("<ans"), said("wer>")] }), "<ans\nwer>");
 */
export function policyText({ segments }: Spoken): string {
  return segments.flatMap(({ kind, text }) => (kind === "policy" ? [text] : [])).join("\n");
}

/** Everything behind the prompt, what the environment said included. */
export function responseText({ segments }: Spoken): string {
  return segments.flatMap(({ kind, text }) => (kind === "prompt" ? [] : [text])).join("");
}

/**
 * What was found, as an observation has it: without tags, and without the queries that some observations repeat, which
 * are the policy's own words (law 9).
 *
 * @param observation - its text, of any of the systems
 * @returns the documents
 * @example
 * assert.equal(foundIn("<information>Rome is old.</information>"), "Rome is old.");
 */
export function foundIn(observation: string): string {
  const inside = blocksOf(observation, tagsOf("information"));
  if (inside.length > 0) return inside.map(documentsOf).join("\n");
  return observation.replace(/^(?:\[path\d+\]|<tool_response>).*$|<\/?\|?[a-z_]+\|?>/gm, "").trim();
}

/** Of parallel queries the JSON object's documents, else the text as it is. */
function documentsOf(text: string): string {
  if (!text.startsWith("{")) return text;
  try {
    const { documents } = JSON.parse(text) as { readonly documents?: unknown };
    return Array.isArray(documents) ? documents.join("\n") : text;
  } catch {
    return text;
  }
}

/** The whole conversation as one text, prompt included. */
export function wholeText({ segments }: Spoken): string {
  return segments.map(({ text }) => text).join("");
}

/**
 * The answer that Search-R1 and RAG-R1 find: the last of at least two in the whole text. The examples in their prompts
 * are two such pairs, and so is their message about an invalid turn, so a policy without an answer has said "Beijing"
 * or "and".
 *
 * @param trajectory - its segments
 * @returns the answer, trimmed; undefined with fewer than two
 * @example
 * const prompt = { kind: "prompt", tokens: Int32Array.of(1), text: "<answer> and </answer><answer> Rome </answer>" } as const;
 * assert.equal(answerOfWholeText({ segments: [prompt] }), "Rome");
 */
export function answerOfWholeText(trajectory: Spoken): string | undefined {
  const answers = answersIn(wholeText(trajectory));
  return answers.length < 2 ? undefined : answers.at(-1);
}

/**
 * How often a string stands in a text, without overlaps.
 *
 * @example
 * assert.equal(countOf("<a><a></a>", "<a>"), 2);
 */
export function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}
