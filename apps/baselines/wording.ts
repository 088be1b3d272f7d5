/** What the prompts of baselines have in common, and how documents stand in them. */

import { asQuestion, ragFormat } from "../../lib/rollout/formats/format.ts";
import { firstBlock, tagsOf } from "../../lib/rollout/grammars/blocks.ts";
import { documentsHere } from "../../lib/rollout/session/prompt.ts";
import type { Rollout } from "../../lib/rollout/session/rollout.ts";
import { informationText, observationText, type TitledText } from "../../lib/text/observation.ts";

const answerTags = tagsOf("answer");

/** Ends a turn that answers. */
export const answerEnds: readonly string[] = [answerTags.close];

/** How to answer. */
export const say = {
  atOnce: "Give the answer alone inside <answer> and </answer>, without explanation.",
  reasoned:
    "Reason step by step first. Then give the answer alone inside <answer> and </answer>, without explanation.",
  byLines:
    "Reason step by step, one short sentence a line. As soon as you know it, give the answer alone inside <answer> " +
    "and </answer>, without explanation.",
  example: "For example, <answer> Beijing </answer>.",
  documents: `These documents were found for it; some may be of no use.\n${documentsHere}\n`,
} as const;

/** The user's message: instructions, then the question. */
export function questionPrompt(instructions: string, question: string): string {
  return `Answer the given question. ${instructions}\nQuestion: ${asQuestion(question)}\n`;
}

/** The first answer in what the model wrote. */
export function answerIn(text: string): string | undefined {
  return firstBlock(text, answerTags)?.content;
}

/** A text without the tags of answers. */
export function withoutTags(text: string): string {
  return text.replaceAll(answerTags.open, " ").replaceAll(answerTags.close, " ");
}

/** Documents, each once: those given first stand first. */
export function withoutRepeats(documents: readonly TitledText[]): TitledText[] {
  const byText = new Map(documents.map((each) => [`${each.title}\n${each.text}`, each]));
  return [...byText.values()];
}

/** Documents as the model reads them, cut to what an observation may be; without any because the search failed, that. */
export function shownDocuments(
  rollout: Rollout,
  query: string,
  documents: readonly TitledText[] | undefined,
): string {
  if (documents === undefined) return failedSearch;
  return observationText([query], [documents], "single", (text) => rollout.shorten(text));
}

/** What the model reads when a search has failed. */
export const failedSearch: string = ragFormat("single").failure;

/** A text between information tags. */
export const information = informationText;
