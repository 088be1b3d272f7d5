/** `seekrl generate`: continues a prompt, streaming the text. */
import { z } from "zod";
import { readText } from "../../../../lib/base/files/regular-file.ts";
import type { Constraint } from "../../../../lib/engine/constraint/constraint.ts";
import type { Engine } from "../../../../lib/engine/engine.ts";
import type { Sequence } from "../../../../lib/engine/sequence.ts";
import type { GenerateOptions, Span } from "../../../../lib/engine/span.ts";
import type { Model } from "../../../../lib/model/model.ts";
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import {
  findTokenizer,
  idsOf,
  loadPolicy,
  openDetokenizer,
  openEngine,
  policyFolders,
} from "../../open/local-policy.ts";
import { idsOption, modelOptions } from "../../options/model-options.ts";
import { constraintOptions, samplingOptions } from "../../options/sampling-options.ts";

const options = z.strictObject({
  ...modelOptions,
  prompt: z.string().optional().describe("text to continue"),
  ids: idsOption.optional().describe("token ids to continue, instead of a prompt"),
  maxTokens: z.int().min(1).default(128).describe("most tokens of a sample"),
  ...samplingOptions,
  ...constraintOptions,
  seed: z.int().min(0).default(0).describe("seed of the first sample; the next one's is one more"),
  samples: z.int().min(1).max(10_000).default(1).describe("number of continuations"),
});

type Options = z.output<typeof options>;

/** The command. */
export const generateCommand = command({
  name: "generate",
  summary: "continues a prompt",
  options,
  run: async (given, io) => {
    if ((given.prompt === undefined) === (given.ids === undefined)) {
      throw new UsageError("expected either --prompt or --ids");
    }
    const folders = await policyFolders(given);
    const tokenizer = await findTokenizer(folders.model);
    await using loaded = await loadPolicy({ ...given, ...folders }, io);
    const { prompt: text, ids, model: folder } = given;
    const promptIds = idsOf({ text, ids, model: folder }, tokenizer, "--prompt");
    await using engine = await openEngine(loaded.policy, tokenizer ? { tokenizer } : {});
    const spans = await sample(engine, promptIds, given, io, tokenizer);
    warnOfContext(spans, given, loaded.model.config, io);
    warnOfCutForm(spans, given, io);
    io.result({
      samples: spans.map(({ ids, logprobs, stop }) => {
        const text = tokenizer?.decode(withoutEos(ids, tokenizer)) ?? "";
        return { ids: [...ids], text, logprobs: [...logprobs], stop };
      }),
    });
  },
});

/** The ids that are text: the one that ends a text is none. */
function withoutEos(ids: Int32Array, { eosIds }: Tokenizer): Int32Array {
  return eosIds.includes(ids.at(-1) ?? -1) ? ids.subarray(0, -1) : ids;
}

/** A text of a form that `--max-tokens` ended is not of that form. */
function warnOfCutForm(spans: readonly Span[], given: Options, io: CommandIo): void {
  const { jsonSchema, regex, grammar, maxTokens } = given;
  if ((jsonSchema ?? regex ?? grammar) === undefined) return;
  const isCut = spans.some(({ ids, stop }) => stop === "length" && ids.length === maxTokens);
  if (isCut) io.log("warning: cut off by --max-tokens: the text is not whole");
}

/** A text that the context ended looks like one that `--max-tokens` ended. */
function warnOfContext(
  spans: readonly Span[],
  { maxTokens }: Options,
  { contextTokens }: Model["config"],
  io: CommandIo,
): void {
  const cut = spans.find(({ ids, stop }) => stop === "length" && ids.length < maxTokens);
  if (cut === undefined) return;
  const limit = `the model's context of ${contextTokens} tokens ended the text`;
  io.log(`warning: ${limit} after ${cut.ids.length} of --max-tokens ${maxTokens}`);
}

async function sample(
  engine: Engine,
  promptIds: Int32Array,
  given: Options,
  io: CommandIo,
  tokenizer: Tokenizer | undefined,
): Promise<Span[]> {
  const { samples, seed } = given;
  const constraint = await readConstraint(given);
  const request = { ...requestOf(given, tokenizer), constraint, signal: io.signal };
  const root = engine.open(promptIds, { seed });
  const others = Array.from({ length: samples - 1 }, (_, i) => root.fork({ seed: seed + i + 1 }));
  // One sample streams; several would write over one another, so each is shown when it is whole.
  if (samples === 1) return [await stream(root, request, io, tokenizer)];
  return Promise.all(
    [root, ...others].map(async (sequence, i) => {
      const span = await sequence.generate(request);
      const text = tokenizer?.decode(withoutEos(span.ids, tokenizer)) ?? span.ids.join(" ");
      io.write(`[${i + 1}] ${text}\n`);
      return span;
    }),
  );
}

async function readConstraint({ jsonSchema, regex, grammar }: Options): Promise<Constraint | undefined> {
  const given = [jsonSchema, regex, grammar].filter((each) => each !== undefined);
  if (given.length === 0) return undefined;
  if (given.length > 1) throw new UsageError("expected one of --json-schema, --regex and --grammar");
  if (regex !== undefined) return { regex };
  if (grammar !== undefined) return { grammar: await readText(grammar) };
  const { readJson } = await import("../../../../lib/model/model-folder.ts");
  return { jsonSchema: (await readJson(jsonSchema as string)) as object };
}

function requestOf(given: Options, tokenizer: Tokenizer | undefined): GenerateOptions {
  const { maxTokens, temperature, topP, topK, minP, logitBias, badWords } = given;
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = given;
  if (badWords.length > 0 && tokenizer === undefined) {
    throw new UsageError(`--bad-words: ${given.model} has no tokenizer`);
  }
  return {
    ...{ maxTokens, temperature, topP, topK, minP, repetitionPenalty, presencePenalty, frequencyPenalty },
    logitBias: Object.fromEntries(logitBias.map((each) => each.split("=").map(Number))),
    // A word is other tokens at the beginning of a text than behind a space.
    badWords: badWords.flatMap((word) => [word, ` ${word}`].flatMap((each) => tokenizer?.encode(each) ?? [])),
  };
}

async function stream(
  sequence: Sequence,
  request: GenerateOptions,
  io: CommandIo,
  tokenizer: Tokenizer | undefined,
): Promise<Span> {
  const text = tokenizer && { tokenizer, shown: await openDetokenizer(tokenizer) };
  const chunks = sequence.stream(request);
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) {
      io.write(`${text?.shown.flush() ?? ""}\n`);
      return value;
    }
    io.write(text?.shown.push(withoutEos(value.ids, text.tokenizer)) ?? `${value.ids.join(" ")} `);
  }
}
