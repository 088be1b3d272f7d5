/** Law 7: a search that never answers becomes a failure that is read, counted and not trained. */
import { type Conversations, stuckDeadlineMs, stuckSlackMs } from "../../conversations.ts";
import { type Finding, skipped, verdict } from "../../finding.ts";

const subject = { check: "a search that hangs does not hold the batch", law: 7 };

/** Looks at the conversation whose search never answered. */
export function checkStuckSearch(all: Conversations): Finding {
  if (all.written === undefined) return skipped(subject, "no way to search is known for this format");
  const { stuck } = all;
  const latest = stuckDeadlineMs + stuckSlackMs;
  if (stuck === undefined) {
    return verdict(subject, [`still waiting ${latest} ms after a deadline of ${stuckDeadlineMs} ms`], "");
  }
  const { trajectory, ms } = stuck;
  const problems = trajectory.failures > 0 ? [] : ["it was not counted as a failure"];
  const ended = `deadline ${stuckDeadlineMs} ms, the conversation went on and ended after ${ms.toFixed(0)} ms`;
  return verdict(subject, problems, `${ended}: ${trajectory.stop}, ${trajectory.failures} counted`);
}
