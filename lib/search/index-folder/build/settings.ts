/** How an index shall be built: what a caller asked for, defaults filled in, mistakes found before any work. */
import { checkArgument, type OptionCheck, type OptionKinds, optionsOf } from "../../../base/check-options.ts";
import { type Language, languages } from "../../../text/analysis/languages.ts";
import { Bm25Builder, type Bm25Options } from "../../bm25.ts";
import { HashedEmbedder } from "../../embed/hashed-embedder.ts";
import {
  type GraphOptions,
  graphDefaults,
  type VectorDtype,
  VectorIndex,
  type VectorIndexKind,
} from "../../vector-index.ts";
import { type EncoderChoice, encoderKind, encoderSettings } from "../embedders.ts";
import type { DenseSettings, EmbedderSettings, IndexSettings } from "../manifest.ts";

/** How to embed the passages and to search the vectors. */
export interface DenseOptions {
  /** `hashed` needs no model; an encoder is a Hugging Face folder. @default "hashed" */
  readonly embedder?: "hashed" | EncoderChoice;
  /** Width of the hashed embedder's vectors. @default 512 */
  readonly dim?: number;
  /** `auto`: `exact` for a segment of up to 100,000 passages, `hnsw` for a larger one. @default "auto" */
  readonly kind?: "auto" | VectorIndexKind;
  /** The cosine or the inner product. @default "cos" */
  readonly metric?: DenseSettings["metric"];
  /** How vectors are stored. @default "bf16" */
  readonly dtype?: VectorDtype;
  /** Keeps `bf16` rows too, by which candidates are scored again. @default true for `i8` and `b1` */
  readonly rescore?: boolean;
  /** Of `hnsw`. */
  readonly graph?: GraphOptions;
}

/** What an index holds of its passages; `false` leaves a kind out. */
export interface SettingsOptions {
  /**
   * Of the texts, ISO 639-1: whose stop words are left out and whose endings are taken off, in words of its script.
   * `auto`: of each word's script the usual one, which for Latin letters is English. @default "auto"
   */
  readonly language?: Language;
  /** @default {} */
  readonly bm25?: Bm25Options | false;
  /** @default {} */
  readonly dense?: DenseOptions | false;
}

/** A kind of its own, or `false`. */
const orFalse =
  (check: OptionCheck): OptionCheck =>
  (name, value) =>
    value === false ? undefined : check(name, value);

const graphKind = optionsOf<GraphOptions>({
  connectivity: "number",
  expansionAdd: "number",
  expansionSearch: "number",
});

/** What {@link SettingsOptions} hold. */
export const settingsKinds: OptionKinds<SettingsOptions> = {
  language: languages,
  bm25: orFalse(optionsOf<Bm25Options>({ k1: "number", b: "number" })),
  dense: orFalse(
    optionsOf<DenseOptions>({
      embedder: checkEmbedder,
      dim: "number",
      kind: ["auto", "exact", "hnsw"],
      metric: ["cos", "ip"],
      dtype: "string",
      rescore: "boolean",
      graph: graphKind,
    }),
  ),
};

function checkEmbedder(name: string, value: unknown): void {
  if (typeof value === "object") encoderKind(name, value);
  else checkArgument(name, value, ["hashed"]);
}

/** Comparing with every vector is quick enough up to here, and finds them all. */
const maxExact = 100_000;

/** How the vectors of a segment are searched. */
export function kindFor({ kind }: DenseSettings, count: number): VectorIndexKind {
  if (kind !== "auto") return kind;
  return count <= maxExact ? "exact" : "hnsw";
}

function hashedSettings(dim: number, segment: string): EmbedderSettings {
  HashedEmbedder.create({ dim }).close();
  return { kind: "hashed", dim, segment };
}

async function denseSettings(options: DenseOptions, segment: string): Promise<DenseSettings> {
  const { embedder: choice = "hashed", dim = 512, kind = "auto", metric = "cos", dtype = "bf16" } = options;
  const { rescore = dtype === "i8" || dtype === "b1" } = options;
  const graph = { ...graphDefaults, ...options.graph };
  const embedder = choice === "hashed" ? hashedSettings(dim, segment) : await encoderSettings(choice);
  for (const each of ["exact", "hnsw"] as const)
    VectorIndex.create(each, { metric, dtype, graph, dim: embedder.dim, capacity: 0 }).close();
  return { embedder, kind, metric, dtype, rescore, graph };
}

/**
 * The settings that options describe.
 *
 * @param options what to build
 * @param segment the segment that will hold the embedder
 * @throws ERR_RANGE, ERR_ARGUMENT for options that cannot be; for an encoder what opening it throws
 */
export async function settingsOf(
  { language = "auto", bm25 = {}, dense = {} }: SettingsOptions,
  segment: string,
): Promise<IndexSettings> {
  const settings: IndexSettings = { analyser: { rules: 2, language } };
  if (bm25 !== false) {
    new Bm25Builder(bm25).close();
    settings.bm25 = { k1: bm25.k1 ?? 1.2, b: bm25.b ?? 0.75 };
  }
  if (dense !== false) settings.dense = await denseSettings(dense, segment);
  return settings;
}
