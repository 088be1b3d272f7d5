/** Accepted answers can be told from an empty answer once they are normalised. */

import { normalizeAnswer } from "../../../../lib/text/words/normalize.ts";
import { type Finding, quote, verdict } from "../../finding.ts";
import type { LintSubject } from "../../subject.ts";

const subject = { check: "accepted answers have words left after normalisation" };

/** Answers such as "A" and "The" are compared in lower case alone, and by the originals with nothing. */
export function checkAcceptedAnswers({ question, questions = [question] }: LintSubject): Finding {
  const answers = questions.flatMap(({ id, answers }) => answers.map((answer) => ({ id, answer })));
  const problems = answers
    .filter(({ answer }) => normalizeAnswer(answer) === "")
    .map(
      ({ id, answer }) =>
        `question ${id}: ${quote(answer)} is compared in lower case alone: name another accepted answer`,
    );
  return verdict(subject, problems, `all ${answers.length}`);
}
