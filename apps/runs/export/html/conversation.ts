/** A trajectory as a conversation to read, each sampled token coloured by how likely it was. */
import type { ExportedSegment, ExportedToken, ExportedTrajectory } from "../exported.ts";
import { escaped, shownNumber } from "./markup.ts";

/** Who speaks, for people. */
const speakers = { prompt: "prompt", policy: "model", observation: "found" } as const;

/** A prompt that is longer is folded: those of one recipe differ in their question alone. */
const longPrompt = 240;

/** Probabilities below which a token has the colours 1 to 4. */
const bounds = [0.9, 0.5, 0.2, 0.05] as const;

/** What the colours mean. */
export const legendHtml = [
  `<p class="legend" aria-hidden="true">sampled tokens by probability: `,
  ...["0.9 and more", "below 0.9", "below 0.5", "below 0.2", "below 0.05"].map(
    (text, level) => `<span class="p${level}">${text}</span> `,
  ),
  "</p>",
].join("");

/** The trajectory, folded until it is opened. */
export function conversationHtml(trajectory: ExportedTrajectory): string {
  const { question, segments } = trajectory;
  return [
    `<details class="trace"><summary><span class="question">${escaped(question)}</span>`,
    `<span class="scores">${badges(trajectory)}</span></summary>`,
    `<p class="outcome">${outcomeOf(trajectory)}</p>`,
    ...segments.map(segmentHtml),
    "</details>",
  ].join("");
}

function badges({ scores, step, set }: ExportedTrajectory): string {
  const place = step === undefined ? (set ?? "") : `step ${step}`;
  const [name = "", value] = Object.entries(scores).find(([, score]) => score !== null) ?? [];
  const kind = value === undefined || value === null ? "" : value > 0 ? " good" : " poor";
  const badge = value === undefined || value === null ? "no score" : `${name} ${shownNumber(value)}`;
  return `<i>${escaped(place)}</i> <b class="badge${kind}">${escaped(badge)}</b>`;
}

function outcomeOf({ answer, answers, stop, rounds, scores }: ExportedTrajectory): string {
  const given = answer === null ? `no answer (${escaped(stop)})` : `answer <b>${escaped(answer)}</b>`;
  const accepted = answers.length === 0 ? "" : `, accepted: ${answers.map(escaped).join(" · ")}`;
  const searches = rounds === 1 ? "1 search" : `${rounds} searches`;
  const others = Object.entries(scores).flatMap(([name, value]) =>
    value === null ? [] : [`${escaped(name)} ${shownNumber(value)}`],
  );
  return `${given}${accepted}; ${searches}; ${others.join(", ")}`;
}

function segmentHtml({ kind, text, tokens: sampled }: ExportedSegment): string {
  const tokens = sampled?.();
  const content = `<div class="text">${tokens === undefined ? escaped(text) : tokens.map(tokenHtml).join("")}</div>`;
  const who = speakers[kind];
  const isFolded = kind === "prompt" && text.length > longPrompt;
  const inner = isFolded
    ? `<details><summary>${text.length.toLocaleString("en-US")} characters</summary>${content}</details>`
    : content;
  return `<section class="${kind}"><h4>${who}</h4>${inner}</section>`;
}

function tokenHtml({ text, logprob }: ExportedToken): string {
  const probability = Math.exp(logprob);
  const level = bounds.filter((bound) => probability < bound).length;
  // Likely tokens are most of them and need no mark.
  if (level === 0) return escaped(text);
  return `<span class="p${level}" title="p ${shownNumber(probability)}">${escaped(text)}</span>`;
}
