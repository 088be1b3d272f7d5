/** Rotary position embeddings in config.json: base, stretching, and the places where releases of transformers keep them. */
import type { z } from "zod";
import { expectFormat, formatError } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import type { Family } from "./families.ts";

/**
 * How rotary frequencies are stretched beyond the trained context. `llama3` is Llama 3.1's piecewise rule, `yarn` that of
 * arXiv 2309.00071. `dynamic` (NTK) and `longrope` are chosen by the model's `contextTokens`, once for all sequences.
 */
export type RopeScaling =
  | { readonly kind: "none" }
  | { readonly kind: "linear"; readonly factor: number }
  | { readonly kind: "dynamic"; readonly factor: number; readonly originalMaxPosition: number }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPosition: number;
    }
  | {
      readonly kind: "yarn";
      readonly factor: number;
      readonly betaFast: number;
      readonly betaSlow: number;
      readonly isTruncated: boolean;
      /** Of every sine and cosine. */
      readonly attentionFactor: number;
      readonly originalMaxPosition: number;
    }
  | {
      readonly kind: "longrope";
      /** Divisors of each frequency where `contextTokens` is up to the original context. */
      readonly shortFactors: readonly number[];
      /** Divisors beyond it. */
      readonly longFactors: readonly number[];
      readonly attentionFactor: number;
      readonly originalMaxPosition: number;
    };

const positive = lazySchema((z) => z.number().positive());
const size = lazySchema((z) => z.number().int().positive());
const partial = lazySchema((z) => z.number().positive().max(1));

/** The content of `rope_scaling` or `rope_parameters`. */
const ropeObject = lazySchema((z) =>
  z.strictObject({
    type: z.string().nullish(),
    rope_type: z.string().nullish(),
    rope_theta: positive().nullish(),
    factor: positive().nullish(),
    low_freq_factor: positive().nullish(),
    high_freq_factor: positive().nullish(),
    beta_fast: positive().nullish(),
    beta_slow: positive().nullish(),
    truncate: z.boolean().nullish(),
    mscale: positive().nullish(),
    mscale_all_dim: positive().nullish(),
    attention_factor: positive().nullish(),
    short_factor: z.array(positive()).nullish(),
    long_factor: z.array(positive()).nullish(),
    original_max_position_embeddings: size().nullish(),
    partial_rotary_factor: partial().nullish(),
    // Of YaRN's own code; transformers reads neither.
    ...{ attn_factor: z.number().nullish(), finetuned: z.boolean().nullish() },
  }),
);

/** The keys of config.json that concern positions. */
export const ropeKeys = lazySchema(() => ({
  rope_theta: positive().nullish(),
  rope_scaling: ropeObject().nullish(),
  rope_parameters: ropeObject().nullish(),
  original_max_position_embeddings: size().nullish(),
  partial_rotary_factor: partial().nullish(),
  max_position_embeddings: size(),
}));

const ropeFile = lazySchema((z) => z.object(ropeKeys()));
type RopeFile = z.infer<ReturnType<typeof ropeFile>>;
type RopeObject = z.infer<ReturnType<typeof ropeObject>>;

/** Keys that each kind of scaling uses, besides kind and base. */
const usedKeys: Readonly<Record<string, readonly (keyof RopeObject)[]>> = {
  default: [],
  linear: ["factor"],
  dynamic: ["factor"],
  llama3: ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
  yarn: [
    ...(["factor", "beta_fast", "beta_slow", "truncate", "mscale", "mscale_all_dim"] as const),
    ...(["attention_factor", "original_max_position_embeddings"] as const),
  ],
  longrope: ["short_factor", "long_factor", "factor", "attention_factor", "original_max_position_embeddings"],
};
const commonKeys: readonly string[] = [
  ...["type", "rope_type", "rope_theta", "partial_rotary_factor", "attn_factor", "finetuned"],
];

/** One of two values for the same thing; transformers takes the first, releases before it the second. */
function agreed<Value>(names: string, values: readonly [Value, Value], from: string): Value {
  const [first, second] = values;
  if (first != null && second != null && first !== second)
    throw formatError(from, `${names}: contradict, ${first} and ${second}`);
  return first ?? second;
}

function hasContent(rope: RopeObject | null | undefined): rope is RopeObject {
  return Object.values(rope ?? {}).some((value) => value != null);
}

/** `rope_scaling` and `rope_parameters` are two spellings of one thing: only one may say something. */
function ropeOf({ rope_scaling, rope_parameters }: RopeFile, from: string): RopeObject {
  if (hasContent(rope_scaling) && hasContent(rope_parameters)) {
    const keys = new Set([...Object.keys(rope_scaling), ...Object.keys(rope_parameters)]) as Set<
      keyof RopeObject
    >;
    const different = [...keys].find((key) => rope_scaling[key] !== rope_parameters[key]);
    expectFormat(
      different === undefined,
      from,
      `rope_scaling and rope_parameters: contradict in ${different}`,
    );
  }
  return hasContent(rope_scaling) ? rope_scaling : (rope_parameters ?? {});
}

function kindOf(rope: RopeObject, family: Family, from: string): string {
  const kind = agreed("rope_type and type", [rope.rope_type, rope.type], from) ?? "default";
  return family.hasPhiRope && (kind === "su" || kind === "yarn") ? "longrope" : kind;
}

function checkUsed(rope: RopeObject, kind: string, from: string): void {
  const used = Object.hasOwn(usedKeys, kind) ? usedKeys[kind] : undefined;
  const kinds = Object.keys(usedKeys).join(", ");
  expectFormat(used !== undefined, from, `rope scaling: expected ${kinds}, got ${kind}`);
  const unused = (Object.keys(rope) as (keyof RopeObject)[]).find(
    (key) => rope[key] != null && !commonKeys.includes(key) && !used.includes(key),
  );
  expectFormat(unused === undefined, from, `rope scaling ${kind}: ${unused} has no effect`);
}

/** What YaRN multiplies sines and cosines by, where config.json does not say it. */
function yarnAttention(factor: number, rope: RopeObject): number {
  const { mscale, mscale_all_dim } = rope;
  const grown = (scale: number) => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1);
  return mscale != null && mscale_all_dim != null ? grown(mscale) / grown(mscale_all_dim) : grown(1);
}

function longrope(
  rope: RopeObject,
  { originalMaxPosition, maxPosition }: { originalMaxPosition: number; maxPosition: number },
  from: string,
): RopeScaling {
  const { short_factor, long_factor } = rope;
  expectFormat(short_factor != null, from, "rope scaling longrope: short_factor is missing");
  expectFormat(long_factor != null, from, "rope scaling longrope: long_factor is missing");
  const factor = rope.factor ?? maxPosition / originalMaxPosition;
  const usual = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalMaxPosition));
  return {
    kind: "longrope",
    shortFactors: short_factor,
    longFactors: long_factor,
    attentionFactor: rope.attention_factor ?? usual,
    originalMaxPosition,
  };
}

function yarn(rope: RopeObject, factor: number, originalMaxPosition: number): RopeScaling {
  return {
    kind: "yarn",
    factor,
    betaFast: rope.beta_fast ?? 32,
    betaSlow: rope.beta_slow ?? 1,
    isTruncated: rope.truncate ?? true,
    attentionFactor: rope.attention_factor ?? yarnAttention(factor, rope),
    originalMaxPosition,
  };
}

/** Positions that the model was trained on before its frequencies were stretched. */
function originalContext(
  file: RopeFile,
  { rope, kind, family }: { rope: RopeObject; kind: string; family: Family },
  from: string,
): number {
  const original = agreed(
    "original_max_position_embeddings, at the top and in rope scaling",
    [file.original_max_position_embeddings, rope.original_max_position_embeddings],
    from,
  );
  const usesOriginal = usedKeys[kind]?.includes("original_max_position_embeddings") === true;
  expectFormat(
    usesOriginal || original == null || family.hasPhiRope === true,
    from,
    `original_max_position_embeddings: has no effect with rope scaling ${kind}`,
  );
  return (usesOriginal ? original : undefined) ?? file.max_position_embeddings;
}

function readScaling(file: RopeFile, rope: RopeObject, family: Family, from: string): RopeScaling {
  const kind = kindOf(rope, family, from);
  checkUsed(rope, kind, from);
  const needed = (key: "factor" | "low_freq_factor" | "high_freq_factor"): number => {
    const value = rope[key];
    expectFormat(value != null, from, `rope scaling ${kind}: ${key} is missing`);
    return value;
  };
  const maxPosition = file.max_position_embeddings;
  const originalMaxPosition = originalContext(file, { rope, kind, family }, from);
  if (kind === "default") return { kind: "none" };
  if (kind === "longrope") return longrope(rope, { originalMaxPosition, maxPosition }, from);
  const factor = needed("factor");
  if (kind === "linear") return { kind, factor };
  if (kind === "dynamic") return { kind, factor, originalMaxPosition };
  if (kind === "yarn") return yarn(rope, factor, originalMaxPosition);
  return {
    kind: "llama3",
    factor,
    lowFreqFactor: needed("low_freq_factor"),
    highFreqFactor: needed("high_freq_factor"),
    originalMaxPosition,
  };
}

/**
 * Reads base, part and scaling of the rotary frequencies, as transformers 5.18 does.
 *
 * @throws ERR_FORMAT where two places contradict each other, a value is missing, or one would have no effect
 */
export function readRope(
  file: RopeFile,
  family: Family,
  from: string,
): { ropeTheta: number; ropeScaling: RopeScaling; rotaryFactor: number } {
  const rope = ropeOf(file, from);
  const theta = agreed(
    "rope_theta, in rope scaling and at the top",
    [rope.rope_theta, file.rope_theta],
    from,
  );
  const factors = [rope.partial_rotary_factor, file.partial_rotary_factor] as const;
  const rotaryFactor = agreed("partial_rotary_factor, in rope scaling and at the top", factors, from) ?? 1;
  expectFormat(
    rotaryFactor === 1 || family.keys.includes("partial_rotary_factor"),
    from,
    `partial_rotary_factor: rope over a part of each head is not supported here, got ${rotaryFactor}`,
  );
  return {
    ropeTheta: theta ?? family.ropeTheta ?? 10_000,
    ropeScaling: readScaling(file, rope, family, from),
    rotaryFactor,
  };
}

/** The content of `rope_scaling` for a scaling. */
export function ropeScalingFile(scaling: RopeScaling): Record<string, unknown> | null {
  if (scaling.kind === "none") return null;
  const { kind } = scaling;
  if (kind === "linear" || kind === "dynamic") return { rope_type: kind, factor: scaling.factor };
  const original_max_position_embeddings = scaling.originalMaxPosition;
  if (kind === "llama3") {
    const { factor, lowFreqFactor: low_freq_factor, highFreqFactor: high_freq_factor } = scaling;
    return { rope_type: kind, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings };
  }
  const attention_factor = scaling.attentionFactor;
  if (kind === "yarn") {
    const { factor, betaFast: beta_fast, betaSlow: beta_slow, isTruncated: truncate } = scaling;
    return {
      rope_type: kind,
      ...{ factor, beta_fast, beta_slow, truncate, attention_factor, original_max_position_embeddings },
    };
  }
  return {
    rope_type: kind,
    short_factor: scaling.shortFactors,
    long_factor: scaling.longFactors,
    attention_factor,
    original_max_position_embeddings,
  };
}
