/** Rows of verl's parquet files, as RAG-R1, Search-R1 and ReSearch write them. */
import { has, idColumn, isObject, memberRow, shown, textsColumn } from "./columns.ts";
import { type JsonRow, rowError, textColumn } from "./jsonl.ts";

/** What follows the last `Question:` of the prompt, which is how Search-R1's templates end. */
function askedIn(row: JsonRow): string {
  const { prompt } = row.value;
  const last: unknown = Array.isArray(prompt) ? prompt.at(-1) : undefined;
  const content = isObject(last) && typeof last.content === "string" ? last.content : "";
  const at = content.lastIndexOf("Question:");
  if (at >= 0) return content.slice(at + "Question:".length).trim();
  throw rowError(row, `column "question", or "prompt" with "Question:" in its last message`, shown(prompt));
}

/** The column of that name, or the question in the prompt. @throws ERR_FORMAT when there is neither */
export function verlQuestion(row: JsonRow): string {
  return has(row, "question") ? textColumn(row, "question") : askedIn(row);
}

/** The answers that the reward compares with: `ground_truth.target`, or `ground_truth` itself. @throws ERR_FORMAT */
export function verlAnswers(row: JsonRow): readonly string[] {
  if (!has(row, "reward_model")) return textsColumn(row, "golden_answers");
  const rewardModel = memberRow(row, "reward_model");
  if (!isObject(rewardModel.value.ground_truth)) return textsColumn(rewardModel, "ground_truth");
  return textsColumn(memberRow(rewardModel, "ground_truth"), "target");
}

function extraInfo(row: JsonRow): JsonRow | undefined {
  return has(row, "extra_info") ? memberRow(row, "extra_info") : undefined;
}

/** Which part of its set the row belongs to. @throws ERR_FORMAT when it is no text */
export function verlSplit(row: JsonRow): string | undefined {
  const info = extraInfo(row);
  return info !== undefined && has(info, "split") ? textColumn(info, "split") : undefined;
}

/**
 * The id, after the name of its data set, because files of several sets count each from the beginning; without one
 * `<split>_<index>`, as FlashRAG writes ids.
 */
export function verlId(row: JsonRow): string | undefined {
  const info = extraInfo(row);
  const index = info && idColumn(info, ["index"]);
  const id =
    idColumn(row, ["id"]) ??
    (info && idColumn(info, ["id"])) ??
    (index && [verlSplit(row), index].filter((part) => part !== undefined).join("_"));
  const set = has(row, "data_source") ? `${textColumn(row, "data_source")}/` : "";
  return id === undefined || id.startsWith(set) ? id : `${set}${id}`;
}
