/** `seekrl corpus split`: documents become passages. */
import { z } from "zod";
import { bytesText } from "../../../../lib/base/disk/free-space.ts";
import type { SplitProgress } from "../../../../lib/search/corpus/split-job.ts";
import { command } from "../../command.ts";
import { fetchedFile } from "../../fetch/fetched-file.ts";
import { modelFolder } from "../../fields.ts";
import { Pace, rateText } from "../../report/pace.ts";
import { progressLine } from "../../report/progress.ts";

function progressText(
  { numBytes, totalBytes, numDocuments, numPassages }: SplitProgress,
  pace: Pace,
): string {
  const counts = `${numDocuments} documents, ${numPassages} passages`;
  const rate = rateText(pace, numBytes, totalBytes);
  return `split: ${bytesText(numBytes)} of ${bytesText(totalBytes)}, ${counts}${rate}`;
}

/** The command. */
export const corpusSplitCommand = command({
  name: "corpus split",
  summary: "cuts documents into passages",
  options: z.strictObject({
    input: z
      .string()
      .describe(
        "file or folder: JSON Lines, JSON, TSV, parquet, KILT, text; gzip too; an address is fetched",
      ),
    out: z.string().describe("file to write"),
    form: z.enum(["jsonl", "store"]).default("jsonl").describe("JSON Lines, or a passage store"),
    by: z
      .enum(["words", "tokens", "sentences", "paragraphs"])
      .default("words")
      .describe("what a passage is made of"),
    size: z.int().min(1).default(100).describe("length of a passage, in these (paragraphs: in words)"),
    overlap: z.int().min(0).default(0).describe("how much of it the next one repeats"),
    ids: z
      .enum(["document", "running"])
      .default("document")
      .describe("document's id and number, or one number for all"),
    tokenizer: modelFolder(z.string().optional().describe("model's folder, to split by tokens")),
    maxWords: z.int().min(1).default(350).describe("longer passages are reported"),
    resume: z.boolean().default(false).describe("go on where a stopped split ended"),
  }),
  run: async ({ tokenizer, maxWords, ...options }, io) => {
    const { splitCorpus } = await import("../../../../lib/search/corpus/split-job.ts");
    const { reportLines } = await import("../../../../lib/search/corpus/report.ts");
    const { Tokenizer } = await import("../../../../lib/text/tokenizers/tokenizer.ts");
    const input = await fetchedFile(options.input, io);
    const started = performance.now();
    const progress = progressLine(io);
    const pace = new Pace();
    const { numDocuments, report } = await splitCorpus({
      ...{ ...options, input },
      tokenizer: tokenizer === undefined ? undefined : await Tokenizer.load(tokenizer),
      report: { maxWords },
      onProgress: (done) => progress.show(progressText(done, pace)),
      signal: io.signal,
    });
    progress.end();
    const seconds = (performance.now() - started) / 1000;
    io.write(`${numDocuments} documents in ${options.out} (${seconds.toFixed(1)} s)\n`);
    for (const line of reportLines(report)) io.write(`${line}\n`);
    io.result({ out: options.out, documents: numDocuments, seconds, report });
  },
});
