/** The modules that an adapter is on, found as Hugging Face's peft 0.21 finds them (tuners_utils.py, check_target_module_exists). */
import { SeekError } from "../../base/errors.ts";
import { withinTime } from "../../text/within-time.ts";
import { pythonPattern } from "../../text/words/python-pattern.ts";

/** A regular expression of Python's for whole names, or names and the ends of names behind a dot. */
type ModuleNames = string | readonly string[];

/** What adapter_config.json says of the modules. */
export interface TargetRules {
  /** `all-linear`, in any case, is every projection. */
  readonly targets: ModuleNames;
  readonly excluded: ModuleNames;
  /** Of a list's ends the layers that count; all where there is none. */
  readonly layers: readonly number[];
  /** Regular expressions of what stands before a layer's number; anything where there is none. */
  readonly layersPatterns: readonly string[];
}

type Matches = (name: string) => boolean;

/** Modules that peft adapts where they are named, and no adapter here can be on. */
const unsupported = ["lm_head", "model.embed_tokens"];

/** Long for any pattern that a person wrote; a few name every layer of a model in microseconds. */
const patternMs = 1000;

const endsWith = (name: string, ends: readonly string[]): boolean =>
  ends.some((end) => name.endsWith(`.${end}`));

/** `re.fullmatch`. */
function wholeMatch(pattern: string, from: string): Matches {
  const options = { from, ignoresCase: false };
  // Alone first: a bracket too many would be one of the frame's.
  pythonPattern(pattern, options);
  const framed = pythonPattern(`\\A(?:${pattern})\\Z`, options);
  return (name) => framed.test(name);
}

/** Whether a module stands in a layer that counts: the first number behind a dot is the layer's. */
function layerMatch({ layers, layersPatterns }: TargetRules, from: string): Matches {
  if (layers.length === 0) return () => true;
  const before =
    layersPatterns.length === 0 ? [".*?\\.[^.]*"] : layersPatterns.map((each) => `(?:^|.*?\\.)${each}`);
  const options = { from: `${from}: layers_pattern`, ignoresCase: false };
  const shapes = before.map((start) => pythonPattern(`\\A${start}\\.(?P<layer>\\d+)\\.`, options));
  return (name) => {
    const found = shapes.map((shape) => shape.exec(name)).find((match) => match !== null);
    return found?.groups?.layer !== undefined && layers.includes(Number(found.groups.layer));
  };
}

function targetMatch(rules: TargetRules, from: string): Matches {
  const { targets } = rules;
  if (typeof targets === "string") {
    if (targets.toLowerCase() === "all-linear") return (name) => !unsupported.includes(name);
    return wholeMatch(targets, `${from}: target_modules`);
  }
  const isInLayer = layerMatch(rules, from);
  return (name) => targets.includes(name) || (endsWith(name, targets) && isInLayer(name));
}

function excludedMatch({ excluded }: TargetRules, from: string): Matches {
  if (excluded.length === 0) return () => false;
  if (typeof excluded === "string") return wholeMatch(excluded, `${from}: exclude_modules`);
  return (name) => excluded.includes(name) || endsWith(name, excluded);
}

/**
 * Finds the modules that an adapter is on.
 *
 * @param rules - what its configuration says
 * @param projections - the model's by their whole names, each with the names that transformers may have for its module
 * @param from - names the configuration in messages
 * @returns the projections' names, in their order
 * @throws ERR_FORMAT for what is no regular expression, takes too long, or finds nothing; ERR_ARGUMENT where it finds a
 *   module that no adapter here can be on
 */
export function targetProjections(
  rules: TargetRules,
  projections: ReadonlyMap<string, readonly string[]>,
  from: string,
): string[] {
  const [isTarget, isExcluded] = [targetMatch(rules, from), excludedMatch(rules, from)];
  const isFound: Matches = (name) => !isExcluded(name) && isTarget(name);
  const found = withinTime(patternMs, () => ({
    other: unsupported.find(isFound),
    names: [...projections].flatMap(([name, modules]) => (modules.some(isFound) ? [name] : [])),
  }));
  const shown = JSON.stringify(rules.targets);
  if (found === undefined)
    throw new SeekError("ERR_FORMAT", `${from}: target_modules ${shown}: matching took over ${patternMs} ms`);
  if (found.other !== undefined) {
    const message = `no projection is called ${found.other}; expected target_modules that name projections alone`;
    throw new SeekError("ERR_ARGUMENT", `${from}: ${message}, got ${shown}`);
  }
  if (found.names.length === 0)
    throw new SeekError("ERR_FORMAT", `${from}: target_modules ${shown}: the model has no such projection`);
  return found.names;
}

/**
 * The same projections by fewer names: those that the configuration has where each is one, else what stands behind the
 * last dot where all that end so are meant.
 *
 * @param chosen - some of the projections
 * @param projections - all
 */
export function shortTargets(
  chosen: readonly string[],
  projections: readonly string[],
  { targets, excluded, layers }: TargetRules,
): readonly string[] {
  const isPlain = typeof targets !== "string" && excluded.length === 0 && layers.length === 0;
  const isProjection = (target: string): boolean =>
    projections.some((name) => name === target || endsWith(name, [target]));
  if (isPlain && targets.every(isProjection)) return targets;
  const lastOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
  const isChosen = new Set(chosen);
  const others = new Set(projections.filter((name) => !isChosen.has(name)).map(lastOf));
  return [...new Set(chosen.map((name) => (others.has(lastOf(name)) ? name : lastOf(name))))];
}
