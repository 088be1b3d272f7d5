/** Rotary position embeddings in config.json: base, stretching, and the places where releases of transformers keep them. */
import type { z } from "zod";
import { SeekError } from "../base/errors.ts";
import { lazySchema } from "../base/on-first-use.ts";

/** How rotary frequencies are stretched beyond the trained context; `llama3` is Llama 3.1's piecewise rule. */
export type RopeScaling =
  | { readonly kind: "none" }
  | { readonly kind: "linear"; readonly factor: number }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPosition: number;
    };

const positive = lazySchema((z) => z.number().positive());
const size = lazySchema((z) => z.number().int().positive());

/** The content of `rope_scaling` or `rope_parameters`. Layer by layer (a nested object) it is not supported. */
const ropeObject = lazySchema((z) =>
  z.strictObject({
    type: z.string().nullish(),
    rope_type: z.string().nullish(),
    rope_theta: positive().nullish(),
    factor: positive().nullish(),
    low_freq_factor: positive().nullish(),
    high_freq_factor: positive().nullish(),
    original_max_position_embeddings: size().nullish(),
    partial_rotary_factor: z.literal(1).nullish(),
  }),
);

/** The keys of config.json that concern positions. */
export const ropeKeys = lazySchema((z) => ({
  rope_theta: positive().nullish(),
  rope_scaling: ropeObject().nullish(),
  rope_parameters: ropeObject().nullish(),
  original_max_position_embeddings: size().nullish(),
  partial_rotary_factor: z.literal(1).nullish(),
  max_position_embeddings: size(),
}));

const ropeFile = lazySchema((z) => z.object(ropeKeys()));
type RopeFile = z.infer<ReturnType<typeof ropeFile>>;
type RopeObject = z.infer<ReturnType<typeof ropeObject>>;

/** Keys that each kind of scaling uses, besides kind and base. */
const usedKeys: Readonly<Record<string, readonly (keyof RopeObject)[]>> = {
  default: [],
  linear: ["factor"],
  llama3: ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
};
const commonKeys: readonly string[] = ["type", "rope_type", "rope_theta", "partial_rotary_factor"];

function refuse(from: string, message: string): never {
  throw new SeekError("ERR_FORMAT", `${from}: ${message}`);
}

/** One of two values for the same thing; transformers takes the first, releases before it the second. */
function agreed<Value>(names: string, values: readonly [Value, Value], from: string): Value {
  const [first, second] = values;
  if (first != null && second != null && first !== second)
    refuse(from, `${names}: contradict, ${first} and ${second}`);
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
    if (different !== undefined) refuse(from, `rope_scaling and rope_parameters: contradict in ${different}`);
  }
  return hasContent(rope_scaling) ? rope_scaling : (rope_parameters ?? {});
}

function readScaling(file: RopeFile, rope: RopeObject, from: string): RopeScaling {
  const kind = agreed("rope_type and type", [rope.rope_type, rope.type], from) ?? "default";
  const used = Object.hasOwn(usedKeys, kind) ? usedKeys[kind] : undefined;
  if (used === undefined) refuse(from, `rope scaling: expected default, linear or llama3, got ${kind}`);
  const unused = (Object.keys(rope) as (keyof RopeObject)[]).find(
    (key) => rope[key] != null && !commonKeys.includes(key) && !used.includes(key),
  );
  if (unused !== undefined) refuse(from, `rope scaling ${kind}: ${unused} has no effect`);
  const needed = (key: "factor" | "low_freq_factor" | "high_freq_factor"): number =>
    rope[key] ?? refuse(from, `rope scaling ${kind}: ${key} is missing`);
  const original = agreed(
    "original_max_position_embeddings, at the top and in rope scaling",
    [file.original_max_position_embeddings, rope.original_max_position_embeddings],
    from,
  );
  if (kind !== "llama3" && original != null)
    refuse(from, `original_max_position_embeddings: has no effect with rope scaling ${kind}`);
  if (kind === "default") return { kind: "none" };
  if (kind === "linear") return { kind, factor: needed("factor") };
  return {
    kind: "llama3",
    factor: needed("factor"),
    lowFreqFactor: needed("low_freq_factor"),
    highFreqFactor: needed("high_freq_factor"),
    originalMaxPosition: original ?? file.max_position_embeddings,
  };
}

/**
 * Reads base and scaling of the rotary frequencies, as transformers 5.18 does.
 *
 * @throws ERR_FORMAT where two places contradict each other, a value is missing, or one would have no effect
 */
export function readRope(file: RopeFile, from: string): { ropeTheta: number; ropeScaling: RopeScaling } {
  const rope = ropeOf(file, from);
  const theta = agreed(
    "rope_theta, in rope scaling and at the top",
    [rope.rope_theta, file.rope_theta],
    from,
  );
  return { ropeTheta: theta ?? 10_000, ropeScaling: readScaling(file, rope, from) };
}

/** The content of `rope_scaling` for a scaling. */
export function ropeScalingFile(scaling: RopeScaling): Record<string, unknown> | null {
  if (scaling.kind === "none") return null;
  if (scaling.kind === "linear") return { rope_type: "linear", factor: scaling.factor };
  return {
    rope_type: "llama3",
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalMaxPosition,
  };
}
