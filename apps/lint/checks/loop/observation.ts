/** What others wrote is text: an end-of-turn mark in a passage must not become that token. */
import type { Conversations } from "../../conversations.ts";
import { type Finding, skipped, verdict } from "../../finding.ts";

const subject = { check: "observations are encoded without special tokens", law: 1 };

/** Looks for special ids in what a passage full of their spellings became. */
export function checkObservation({ subject: { tokenizer }, poisoned }: Conversations): Finding {
  if (poisoned === undefined) return skipped(subject, "no way to search is known for this format");
  const observed = poisoned.trajectory.segments.filter(({ kind }) => kind === "observation");
  if (observed.length === 0) {
    return verdict(subject, [`no observation followed the search: ${poisoned.trajectory.stop}`], "");
  }
  const ids = observed.flatMap(({ tokens }) => [...tokens]);
  const special = [...new Set(ids.filter((id) => tokenizer.isSpecial(id)))];
  const names = special.map((id) => `${id} ${tokenizer.tokenOf(id)}`).slice(0, 5);
  const problems = special.length === 0 ? [] : [`a passage that spells them became ${names.join(", ")}`];
  return verdict(
    subject,
    problems,
    `a passage that spells all ${tokenizer.specialTokens.size} became ${ids.length} ids, none of them special`,
  );
}
