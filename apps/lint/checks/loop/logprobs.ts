/** Law 4: a token's log-probability is the same number where it is sampled and where it is trained. */
import { scoreSequences } from "../../../../lib/train/learner/trainer.ts";
import type { Conversations } from "../../conversations.ts";
import { type Finding, verdict } from "../../finding.ts";
import type { LintSubject, Score } from "../../subject.ts";

const subject = { check: "generator and trainer agree on log-probabilities", law: 4 };

/** The largest gap that rounding explains, by the form of the weights. */
export const maxGap = { float32: 1e-5, bfloat16: 0.1 } as const;

/** How a training scores rows. */
export function scoreOf({ score, model }: LintSubject): Score {
  return score ?? (async (sequences, options) => (await scoreSequences(model, sequences, options)).logprobs);
}

/** The rollout's temperature; log-probabilities of the likeliest token are those at 1. */
export function temperatureOf({ parts }: LintSubject): number {
  return parts.sampling.temperature || 1;
}

/** Scores what was sampled with the weights that are trained. */
export async function checkLogprobs({ subject: linted, free }: Conversations): Promise<Finding> {
  const scored = free.sequences.filter(({ rolloutLogprobs }) => rolloutLogprobs !== undefined);
  if (scored.length === 0)
    return verdict(subject, ["the trajectory has no log-probabilities of its tokens"], "");
  const temperature = temperatureOf(linted);
  const ours = await scoreOf(linted)(scored, { temperature, maxTokens: Number.MAX_SAFE_INTEGER });
  let [max, sum, count] = [0, 0, 0];
  for (const [i, { rolloutLogprobs }] of scored.entries()) {
    for (const [row, theirs] of (rolloutLogprobs ?? []).entries()) {
      const gap = Math.abs(theirs - (ours[i]?.[row] ?? Number.NaN));
      [max, sum, count] = [Number.isNaN(gap) ? Number.NaN : Math.max(max, gap), sum + gap, count + 1];
    }
  }
  const allowed = maxGap[linted.model.dtype];
  const seen = `largest gap ${max.toPrecision(2)}, mean ${(sum / Math.max(1, count)).toPrecision(2)} over ${count} tokens`;
  const problems = max <= allowed ? [] : [`${seen}; expected at most ${allowed}`];
  return verdict(subject, problems, seen);
}
