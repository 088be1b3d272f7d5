/** The search that was given answers in time, and what it finds is read. */
import type { Conversations } from "../../conversations.ts";
import { type Finding, quote, skipped, verdict } from "../../finding.ts";

const subject = { check: "the search answers within its deadline" };

/** Looks at the conversation that searched. */
export function checkSearchAnswers({ subject: linted, written }: Conversations): Finding {
  if (written === undefined) return skipped(subject, "no way to search is known for this format");
  const { trajectory } = written;
  const { rounds, failures, failureReasons = [], queries, timings, stop } = trajectory;
  const observed = trajectory.segments.filter(({ kind }) => kind === "observation");
  const text = observed.map((each) => each.text).join("");
  const asked = queries.flat().join(", ");
  const problems = [
    ...(rounds > 0 ? [] : [`the turn that searches was not read as a search: ${stop}`]),
    ...(failures > 0 ? [`${quote(asked)}: ${failureReasons[0] ?? "failed"}`] : []),
    ...(rounds > 0 && failures === 0 && observed.length === 0 ? [`nothing was read after it: ${stop}`] : []),
  ];
  const { searchTimeoutMs } = linted.parts.limits;
  const took = `${timings.searchMs.toFixed(1)} of ${searchTimeoutMs} ms`;
  return verdict(subject, problems, `${quote(asked)}: ${took}, ${quote(text.trim(), 40)}`);
}
