/** `seekrl/lint`: whether model, template and recipe fit, and whether what is sampled is what is trained. */

export type { Finding, Status } from "./lint/finding.ts";
export { type LintReport, lint } from "./lint/lint.ts";
export type { TrainedSpan } from "./lint/render.ts";
export type { LintRollout, LintSubject, Score } from "./lint/subject.ts";
