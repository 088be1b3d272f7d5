/** Which tokens each layer attends to, read from config.json. */
import type { z } from "zod";
import { expectFormat, SeekError } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";

/** What a layer's tokens attend to: all before them, a window of them, or all and without rotary positions. */
export type LayerType = "full" | "sliding" | "noRope";

const size = lazySchema((z) => z.number().int().positive());

/** The keys of config.json that say which tokens a layer sees. */
export const layerKeys = lazySchema((z) => ({
  num_hidden_layers: size().max(4096),
  use_sliding_window: z.boolean().nullish(),
  sliding_window: size().nullish(),
  max_window_layers: z.number().int().nonnegative().nullish(),
  sliding_window_pattern: size().nullish(),
  layer_types: z.array(z.enum(["full_attention", "sliding_attention"])).nullish(),
  no_rope_layers: z.array(z.literal([0, 1])).nullish(),
  no_rope_layer_interval: size().nullish(),
}));

const layerFile = lazySchema((z) => z.object(layerKeys()));
type LayerFile = z.infer<ReturnType<typeof layerFile>>;

/** How a family's configuration says which layers slide, as transformers 5.18 reads it. */
export interface Windows {
  /**
   * `given`: there is a window where `sliding_window` is a number; `asked`: where `use_sliding_window` is true besides;
   * `needed`: always, and null is refused.
   */
  readonly when: "given" | "asked" | "needed";
  /** `sliding_window` where config.json says nothing; none otherwise. */
  readonly usual?: number;
  /** Whether `layer_types` decides where it is given. */
  readonly isListed?: boolean;
  /** The layers that slide where no list decides; all of them by default. */
  readonly slides?: (layer: number, file: LayerFile) => boolean;
}

/** What of a family decides which tokens its layers see. */
export interface LayerRules {
  /** Which layers slide; without, none does, whatever config.json says of a window. */
  readonly windows?: Windows;
  /** Every so many layers one turns nothing. */
  readonly noRopeInterval?: number;
}

/** Tokens that a sliding layer sees; 0 where none slides. */
function windowOf({ windows }: LayerRules, file: LayerFile, from: string): number {
  const { sliding_window: given, use_sliding_window: asked } = file;
  const isKnown = asked !== true || windows !== undefined;
  expectFormat(isKnown, from, "use_sliding_window: is not supported in this architecture");
  if (windows === undefined || (windows.when === "asked" && asked !== true)) return 0;
  const window = given === undefined ? windows.usual : given;
  expectFormat(
    windows.when !== "needed" || window != null,
    from,
    "sliding_window: expected a number, got null",
  );
  return window ?? 0;
}

/** For each layer whether its positions turn. */
function turnsOf(
  { noRopeInterval }: LayerRules,
  file: LayerFile,
  from: string,
): readonly number[] | undefined {
  if (noRopeInterval === undefined) return undefined;
  const { num_hidden_layers: count, no_rope_layers: given } = file;
  expectFormat(
    given == null || given.length >= count,
    from,
    `no_rope_layers: expected ${count} entries, got ${given?.length}`,
  );
  const interval = file.no_rope_layer_interval ?? noRopeInterval;
  return given ?? Array.from({ length: count }, (_, i) => ((i + 1) % interval === 0 ? 0 : 1));
}

/** A list says what is computed: it decides, or it agrees. */
function checkListed(types: readonly LayerType[], { layer_types: listed }: LayerFile, from: string): void {
  const wrong = types.findIndex((type, i) => (type === "sliding") !== (listed?.[i] === "sliding_attention"));
  if (listed == null || wrong < 0) return;
  const expected = types[wrong] === "sliding" ? "sliding_attention" : "full_attention";
  const message = `expected ${expected} for layer ${wrong}, which this architecture computes, got ${listed[wrong]}`;
  throw new SeekError("ERR_FORMAT", `${from}: layer_types: ${message}; remove the key if that is meant`);
}

/**
 * Reads which tokens each layer sees.
 *
 * @throws ERR_FORMAT where layers are listed that the architecture cannot have
 */
export function readLayers(
  family: LayerRules,
  file: LayerFile,
  from: string,
): { layerTypes: LayerType[]; slidingWindow: number } {
  const { num_hidden_layers: count, layer_types: listed } = file;
  const { windows } = family;
  expectFormat(
    listed == null || listed.length === count,
    from,
    `layer_types: expected num_hidden_layers (${count}) entries, got ${listed?.length}`,
  );
  const slidingWindow = windowOf(family, file, from);
  const decides = windows?.isListed === true ? listed : undefined;
  const slides = (layer: number): boolean =>
    decides == null ? (windows?.slides?.(layer, file) ?? true) : decides[layer] === "sliding_attention";
  const turns = turnsOf(family, file, from);
  const layerTypes = Array.from({ length: count }, (_, i): LayerType => {
    if (turns?.[i] === 0) return "noRope";
    return slidingWindow > 0 && slides(i) ? "sliding" : "full";
  });
  const isPossible = slidingWindow > 0 || decides?.includes("sliding_attention") !== true;
  expectFormat(isPossible, from, "layer_types: sliding layers have no sliding_window here");
  checkListed(layerTypes, file, from);
  return { layerTypes, slidingWindow: layerTypes.includes("sliding") ? slidingWindow : 0 };
}
