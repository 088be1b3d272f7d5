/** The result of a check: whether a law holds in the conversations that were run, and the evidence. */

/** `skip` means that the conversations could not show it; the evidence says why. */
export type Status = "pass" | "fail" | "skip";

/** The outcome of one check. */
export interface Finding {
  /** What must hold, as a sentence. */
  readonly check: string;
  /** Number of the law in ARCHITECTURE.md, where it is one. */
  readonly law?: number;
  readonly status: Status;
  /** What was seen: numbers, ids, texts. */
  readonly evidence: string;
}

/** What a check is about. */
type Subject = Pick<Finding, "check" | "law">;

/**
 * Fails with the problems that were found, or passes with what was seen.
 *
 * @param subject - what must hold
 * @param problems - what does not
 * @param seen - evidence for a pass
 * @returns the finding
 */
export function verdict(subject: Subject, problems: readonly string[], seen: string): Finding {
  if (problems.length === 0) return { ...subject, status: "pass", evidence: seen };
  const [first = "", ...others] = problems;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return { ...subject, status: "fail", evidence: `${first}${more}` };
}

/** Says why nothing can be said. */
export function skipped(subject: Subject, evidence: string): Finding {
  return { ...subject, status: "skip", evidence };
}

/** A text as one short line of evidence. */
export function quote(text: string, most = 60): string {
  const line = JSON.stringify(text);
  return line.length <= most ? line : `${line.slice(0, most - 2)}…"`;
}
