/** Law 9: what the prompt or a passage says is never scored. */
import { scoreTrajectory } from "../../../../lib/reward/score-trajectory.ts";
import type { Format } from "../../../../lib/rollout/formats/format.ts";
import { promptText } from "../../../../lib/rollout/session/prompt.ts";
import type { Trajectory } from "../../../../lib/rollout/trajectory.ts";
import { type Conversations, plantedAnswer } from "../../conversations.ts";
import { type Finding, quote, verdict } from "../../finding.ts";
import type { LintSubject } from "../../subject.ts";

const subject = { check: "answers in the prompt and in passages are not scored", law: 9 };

/** Rewards conversations as if what others wrote were the right answer, and as if it were not. */
export async function checkUnscoredText({
  subject: linted,
  ended,
  poisoned,
}: Conversations): Promise<Finding> {
  const { format, chatTemplate } = linted.parts;
  const shown = answersOf(promptText(format, linted.question.question, chatTemplate), format);
  const leaks = shown.map((answer) => leakOf(linted, ended.trajectory, answer, "the prompt"));
  const problems = [
    ...(await Promise.all(leaks)).flat(),
    ...(poisoned ? await leakOf(linted, poisoned.trajectory, plantedAnswer, "a passage") : []),
  ];
  const list = shown.map((answer) => quote(answer)).join(" and ");
  const prompt = list === "" ? "no answer stands in the prompt" : `the prompt shows ${list}`;
  const passage = poisoned ? `, a passage ${quote(plantedAnswer)}` : "";
  return verdict(subject, problems, `${prompt}${passage}: none changes the reward`);
}

/** The answers that the recipe's parser would read in a text if it were the model's. */
function answersOf(text: string, format: Format): string[] {
  const action = format.parse(text, format);
  const own = "answer" in action && action.answer !== undefined ? [action.answer] : [];
  const isMore = "end" in action && action.end > 0;
  return isMore ? [...own, ...answersOf(text.slice(action.end), format)] : own;
}

async function leakOf(
  { reward, question }: LintSubject,
  trajectory: Trajectory,
  answer: string,
  where: string,
): Promise<string[]> {
  const [right, wrong] = await Promise.all(
    [answer, "something else"].map(async (each) => {
      const asked = { ...question, answers: [each] };
      const { reward: earned, failure } = await scoreTrajectory({ reward }, { trajectory, question: asked });
      return failure ?? earned;
    }),
  );
  return [
    ...(right === wrong ? [] : [`${quote(answer)} in ${where} earns ${right}, expected ${wrong}`]),
    ...(trajectory.answer === answer ? [`${quote(answer)} in ${where} became the answer`] : []),
  ];
}
