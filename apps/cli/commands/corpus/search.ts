/** `seekrl search`: asks an index or a retrieval server, for a few queries or for a file of questions. */
import { z } from "zod";
import { batchesOf } from "../../../../lib/base/batches.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import { writeJsonLines } from "../../../../lib/data/files/jsonl.ts";
import { readQuestions } from "../../../../lib/data/question.ts";
import type { Search } from "../../../../lib/search/search.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { dataFile } from "../../fields.ts";
import { openSearch, searchOptions } from "../../options/search-options.ts";
import { progressLine } from "../../report/progress.ts";

const options = z.strictObject({
  ...searchOptions,
  query: z.array(z.string().min(1)).min(1).optional().describe("what to look for"),
  questions: dataFile(z.string().optional().describe("file of questions to look for instead; needs --out")),
  out: z.string().optional().describe("with --questions: file for one JSON line per question, with its hits"),
  topK: z.int().min(1).default(3).describe("passages per query"),
  batch: z.int().min(1).default(256).describe("with --questions: questions asked at once"),
});

type Options = z.output<typeof options>;

/** The command. */
export const searchCommand = command({
  name: "search",
  summary: "asks an index or a retrieval server for passages",
  options,
  places: ["query"],
  placesAreFlags: true,
  run: async (given, io) => {
    const { query, questions, out } = given;
    if ((query === undefined) === (questions === undefined)) {
      throw new UsageError("expected what to look for, or --questions");
    }
    if ((questions === undefined) !== (out === undefined)) {
      throw new UsageError("expected --questions and --out together");
    }
    // Somebody waits for the answer.
    using opened = await openSearch({ ...given, retries: 2 });
    if (query !== undefined) await showHits(opened.search, query, given, io);
    else await writeHits(opened.search, given, io);
  },
});

async function showHits(
  search: Search,
  queries: readonly string[],
  { topK }: Options,
  io: CommandIo,
): Promise<void> {
  const found = await search(queries, { topK, signal: io.signal });
  const results = queries.map((query, i) => ({ query, hits: found[i] ?? [] }));
  for (const { query, hits } of results) {
    io.write(`${query}\n`);
    for (const { score, title, text } of hits) io.write(`  ${score.toFixed(3)}  ${title}: ${text}\n`);
  }
  io.result({ results });
}

async function writeHits(
  search: Search,
  { questions: path = "", out = "", topK, batch }: Options,
  io: CommandIo,
): Promise<void> {
  const progress = progressLine(io);
  let count = 0;
  const rows = async function* () {
    for await (const part of batchesOf(readQuestions(path), batch)) {
      const texts = part.map(({ question }) => question);
      const found = await search(texts, { topK, signal: io.signal });
      for (const [i, question] of part.entries()) yield { ...question, hits: found[i] ?? [] };
      count += part.length;
      progress.show(`search: ${count} questions`);
    }
    if (count === 0) throw new SeekError("ERR_FORMAT", `${path}: expected at least one question, got none`);
  };
  await writeJsonLines(out, rows());
  progress.end();
  io.write(`${count} questions with their hits in ${out}\n`);
  io.result({ out, questions: count });
}
