/** Rows of verl's parquet files, as RAG-R1, Search-R1 and ReSearch write them. */
import { has, idColumn, isObject, memberRow, shown, textsColumn } from "./files/columns.ts";
import { type JsonRow, rowError, textColumn } from "./files/jsonl.ts";

/** What follows the last `Question:` of the prompt, as Search-R1's templates end, or MEM1's line that announces several. */
function askedIn(row: JsonRow): string {
  const { prompt } = row.value;
  const last: unknown = Array.isArray(prompt) ? prompt.at(-1) : undefined;
  const content = isObject(last) && typeof last.content === "string" ? last.content : "";
  const [mark] = [...content.matchAll(/Question:|following questions?:/g)].slice(-1);
  if (mark !== undefined) return content.slice(mark.index + mark[0].length).trim();
  throw rowError(row, `column "question", or "prompt" with "Question:" in its last message`, shown(prompt));
}

/** The column of that name, or the question in the prompt. @throws ERR_FORMAT when there is neither */
export function verlQuestion(row: JsonRow): string {
  return has(row, "question") ? textColumn(row, "question") : askedIn(row);
}

/** More ways to write the answers of several questions than this are not spelled out. */
const mostCombinations = 64;

/**
 * The answers to several questions asked at once, in order, with "; " between, as `nq_hotpotqa_train_multi_2` to `_8` mean
 * them. Every combination of aliases is accepted; of very many, those with one alias in place of the first.
 */
function joinedAnswers(lists: readonly (readonly string[])[]): readonly string[] {
  const numCombinations = lists.reduce((product, list) => product * list.length, 1);
  if (numCombinations <= mostCombinations) {
    const longer = (all: readonly string[][], list: readonly string[]): string[][] =>
      all.flatMap((before) => list.map((answer) => [...before, answer]));
    return lists.reduce(longer, [[]]).map((answers) => answers.join("; "));
  }
  const first = lists.map(([answer = ""]) => answer);
  const swapped = lists.flatMap((list, i) => list.slice(1).map((answer) => first.with(i, answer).join("; ")));
  return [first.join("; "), ...swapped];
}

function isLists(value: unknown): value is readonly (readonly unknown[])[] {
  const isList = (each: unknown): boolean => Array.isArray(each) && each.length > 0;
  return Array.isArray(value) && value.length > 0 && value.every(isList);
}

/**
 * The answers that the reward compares with: `ground_truth.target`, or `ground_truth` itself; a target of lists is that of
 * several questions. @throws ERR_FORMAT
 */
export function verlAnswers(row: JsonRow): readonly string[] {
  if (!has(row, "reward_model")) return textsColumn(row, "golden_answers");
  const rewardModel = memberRow(row, "reward_model");
  if (!isObject(rewardModel.value.ground_truth)) return textsColumn(rewardModel, "ground_truth");
  const truth = memberRow(rewardModel, "ground_truth");
  const { target } = truth.value;
  if (!isLists(target)) return textsColumn(truth, "target");
  return joinedAnswers(
    target.map((answers) => textsColumn({ ...truth, value: { target: answers } }, "target")),
  );
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
