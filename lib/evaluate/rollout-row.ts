/** Rows of the rollout logs that ReSearch and other systems on verl write: `{sequences_str, ground_truth, ...}`. */
import { has, isObject, memberRow, textsColumn } from "../data/files/columns.ts";
import { type JsonRow, textColumn } from "../data/files/jsonl.ts";
import type { Question } from "../data/question.ts";
import { boxedIn } from "../text/boxed.ts";

/** A question of a rollout log, and what was answered. */
export interface LoggedAnswer extends Pick<Question, "id" | "question" | "answers"> {
  readonly prediction: string;
}

/** Where ChatML and the plain template of the originals let the model speak. */
const replyMarks = ["<|im_start|>assistant\n", "Assistant:"];

/** Whether a row is one of a rollout log. */
export function isRolloutRow(row: JsonRow): boolean {
  return has(row, "sequences_str");
}

/**
 * The prediction is what the last `<answer>` of the reply holds, of a `\boxed` in it its content, and empty without
 * one; the accepted answers are `ground_truth` or its `target`. A log has no question: what stands before the reply is
 * it, from its last "Question:" on where there is one.
 *
 * @param row - with `sequences_str` and `ground_truth`
 * @returns the question, the accepted answers, the prediction
 * @throws ERR_FORMAT naming file, line and column
 */
export function rolloutAnswer(row: JsonRow): LoggedAnswer {
  const text = textColumn(row, "sequences_str");
  const [at, mark] = replyMarks.map((each) => [text.indexOf(each), each] as const).find(([i]) => i >= 0) ?? [
    0,
    "",
  ];
  const [said = ""] = [...text.slice(at + mark.length).matchAll(/<answer>(.*?)<\/answer>/gs)]
    .map(([, each]) => each)
    .slice(-1);
  const asked = text.slice(0, at).split("Question:").at(-1) ?? "";
  return {
    id: has(row, "id") ? textColumn(row, "id") : `q${row.index}`,
    question: has(row, "question") ? textColumn(row, "question") : asked.replace("<|im_end|>", "").trim(),
    answers: isObject(row.value.ground_truth)
      ? textsColumn(memberRow(row, "ground_truth"), "target")
      : textsColumn(row, "ground_truth"),
    prediction: (boxedIn(said) ?? said).trim(),
  };
}
