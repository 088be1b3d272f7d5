/** What the commands about index folders share. */
import { z } from "zod";
import type { IndexProgress } from "../../../lib/search/index-folder/build/progress.ts";
import type { Split } from "../../../lib/search/index-folder/corpus.ts";
import type { EncoderChoice } from "../../../lib/search/index-folder/embedders.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { deviceName } from "../fields.ts";
import { durationText } from "../report/pace.ts";
import { progressLine } from "../report/progress.ts";

function lineOf({ stage, done, total, perSecond, remainingSeconds }: IndexProgress): string {
  const of = total === undefined ? "" : ` of ${total}`;
  const left = remainingSeconds === undefined ? "" : `, ${durationText(remainingSeconds)} left`;
  return `${stage}: ${done}${of} passages, ${Math.round(perSecond)} a second${left}`;
}

/** Runs work that reports its progress; gives its result and the seconds it took. */
export async function withIndexProgress<T>(
  io: CommandIo,
  work: (listener: { onProgress: (progress: IndexProgress) => void; signal: AbortSignal }) => Promise<T>,
): Promise<[result: T, seconds: number]> {
  const started = performance.now();
  const line = progressLine(io);
  try {
    const onProgress = (progress: IndexProgress): void => line.show(lineOf(progress));
    const result = await work({ onProgress, signal: io.signal });
    return [result, (performance.now() - started) / 1000];
  } finally {
    line.end();
  }
}

/** How documents become passages. */
export const splitOptions = {
  split: z
    .enum(["auto", "none", "words", "sentences", "paragraphs"])
    .default("auto")
    .describe("how documents are cut into passages; auto: plain text by paragraphs, all else not"),
  splitSize: z.int().min(1).default(100).describe("length of a passage, in sentences or words"),
};

const splitSchema = z.object(splitOptions);

/** What the options say of the cut. */
export function splitOf({ split, splitSize }: z.output<typeof splitSchema>): { readonly split: Split } {
  if (split === "auto") return { split };
  return { split: split !== "none" && { by: split, size: splitSize } };
}

/** What an encoder's folder does not say, or says otherwise. */
export const encoderOptions = {
  pooling: z.enum(["cls", "mean", "last"]).optional().describe("encoder: what the folder says unless given"),
  queryPrefix: z.string().optional().describe("encoder: put before queries; the folder's unless given"),
  passagePrefix: z.string().optional().describe("encoder: put before passages; the folder's unless given"),
  encoderDtype: z.enum(["float32", "bfloat16"]).default("float32").describe("encoder: form of its weights"),
  encoderWeights: z.enum(["int8"]).optional().describe("encoder: quantises its layers' weights"),
  device: deviceName.default("cpu").describe("encoder: what it runs on, cpu or cuda"),
};

const encoderSchema = z.object({ embedder: z.string(), ...encoderOptions });

/** The embedder that the options describe. */
export function embedderOf({
  embedder: path,
  encoderDtype: dtype,
  encoderWeights: weights,
  ...options
}: z.output<typeof encoderSchema>): "hashed" | EncoderChoice {
  const { device, pooling, queryPrefix, passagePrefix } = options;
  if (path === "hashed") {
    if (device !== "cpu")
      throw new UsageError(
        `--device: expected cpu, where the hashed embedder runs, or --embedder with an encoder's folder; got ${device}`,
      );
    return "hashed";
  }
  return {
    ...{ path, dtype, weights, device },
    pooling,
    queryPrefix,
    passagePrefix,
  };
}
