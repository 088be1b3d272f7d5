/** Question files as named sets. */
import { basename } from "node:path";
import type { Question } from "../../../lib/data/question.ts";
import { loadQuestions } from "../options/agent-options.ts";

/** A file's questions under its name; two files of one name are distinguished by their paths. */
export async function loadSets(
  paths: readonly string[],
  limit?: number,
): Promise<{ readonly name: string; readonly questions: readonly Question[] }[]> {
  const load = async (path: string) => ({
    name: nameOf(path, paths),
    questions: await loadQuestions(path, limit),
  });
  return Promise.all(paths.map(load));
}

/** The questions of several files as one list; of several, those that name no source have their file's name. */
export async function loadMixed(paths: readonly string[]): Promise<Question[]> {
  const sets = await loadSets(paths);
  const isMixed = sets.length > 1;
  return sets.flatMap(({ name, questions }) =>
    questions.map((question) => (isMixed ? { ...question, source: question.source ?? name } : question)),
  );
}

function nameOf(path: string, paths: readonly string[]): string {
  const short = (each: string): string => basename(each).replace(/\.(jsonl?|parquet)$/, "");
  return paths.filter((each) => short(each) === short(path)).length > 1 ? path : short(path);
}
