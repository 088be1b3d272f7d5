/** Conversations worth reading, chosen by rules that the world's facts decide and not by how they look. */
import type { QuestionResult } from "../../../../lib/evaluate/question-result.ts";
import type { QueryMode } from "../../../../lib/text/observation.ts";
import type { Facts } from "../../story/facts.ts";
import { kNothingFound } from "../../story/patchy.ts";
import type { WorldQuestion } from "../../story/questions.ts";
import { formalQueryFor, queryFor, statementOf } from "../../story/wording.ts";
import { trace } from "../../teachers/teacher.ts";
import type { HeldOut } from "../held-out.ts";
import type { BeforeAfter } from "../reinforce.ts";
import type { DemoFindings } from "./report.ts";

/** The held-out part of a world. */
interface TraceWorld {
  readonly questions: readonly WorldQuestion[];
  readonly facts: Facts;
}

/** What a conversation is judged by. */
type Conversation = Pick<QuestionResult, "queries" | "segments">;

/**
 * Whether a conversation earned its answer: for every fact on the way a query asked for it, the passage about it was
 * found, and the policy stated it as it is.
 *
 * @param conversation - queries and segments
 * @param question - with the program that leads to its answer
 * @param facts - of its world
 */
export function isWellReasoned(
  { queries, segments }: Conversation,
  question: WorldQuestion,
  facts: Facts,
): boolean {
  const asked = new Set(queries.flat().map((query) => query.trim()));
  const text = (wanted: string): string =>
    segments.flatMap(({ kind, text }) => (kind === wanted ? [text] : [])).join("\n");
  const [found, said] = [text("observation"), text("policy")];
  return trace(facts, question.program)
    .flat()
    .every((fact) => {
      const isAsked = asked.has(queryFor(fact)) || asked.has(formalQueryFor(fact));
      // Parallel queries are answered by JSON, which spells the line's end.
      const isFound = new RegExp(String.raw`Doc \d+: ${fact.entity}(?:\n|\\n)`).test(found);
      return isAsked && isFound && said.includes(statementOf(fact));
    });
}

/** Whether a search found nothing and another one followed. */
export function recovered({ segments }: Conversation): boolean {
  const observations = segments.flatMap(({ kind, text }) => (kind === "observation" ? [text] : []));
  return observations.slice(0, -1).some((text) => text.includes(`Doc 1: ${kNothingFound}`));
}

/** One conversation, as a person would read it. */
function traceOf(result: QuestionResult): string {
  const verdict = result.em === 1 ? "right" : `wrong, expected ${result.answers.join(" or ")}`;
  const text = result.segments.map((segment) => segment.text.trim()).join("\n");
  return `${text}\n=> ${verdict}`;
}

const rule =
  "the first held-out question that the start answers wrongly and the trained model rightly, each fact asked for, found " +
  "and stated as it is";

/**
 * For each mode the first question that RL mended by good reasoning, preferably over an empty result; and the first one
 * that stays wrong.
 *
 * @param results - both modes' evaluations, in the order of the questions
 * @param world - its questions and facts
 * @returns titles that state the rule, and conversations
 */
export function chooseTraces(
  results: Pick<DemoFindings, QueryMode>,
  { questions, facts }: TraceWorld,
): [string, string][] {
  const mended = (mode: QueryMode): [string, string][] => {
    const { before, after } = greedyOf(results[mode]);
    const earned = after.perQuestion.filter((result, i) => {
      const question = questions[result.index];
      const isMended = result.em === 1 && before.perQuestion[i]?.em === 0;
      return isMended && question !== undefined && isWellReasoned(result, question, facts);
    });
    const overGap = earned.find(recovered);
    const chosen = overGap ?? earned[0];
    const title = `${mode === "single" ? "One query a turn" : "Parallel queries"}: ${rule}`;
    return chosen ? [[`${title}${overGap ? ", after a search found nothing" : ""}`, traceOf(chosen)]] : [];
  };
  const wrong = greedyOf(results.multi).after.perQuestion.find(({ em }) => em === 0);
  const still: [string, string][] = wrong
    ? [["Parallel queries: the first held-out question that stays wrong after RL", traceOf(wrong)]]
    : [];
  return [...mended("single"), ...mended("multi"), ...still];
}

/** What is read: the likeliest answers behind the search with gaps. */
function greedyOf({ before, after }: DemoFindings[QueryMode]): BeforeAfter<HeldOut> {
  return { before: before.patchy.greedy, after: after.patchy.greedy };
}
