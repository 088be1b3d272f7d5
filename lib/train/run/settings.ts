/** What decides a run's outcome, kept with its checkpoints: a run goes on only with what it was begun with. */
import { SeekError } from "../../base/errors.ts";

/** Anything JSON can say, by names that a user knows. */
export type Settings = Readonly<Record<string, unknown>>;

/** Single values by their path, `batch.questions`; also those that `isOne` takes for one, whatever they hold. */
export function valuesByPath(
  value: unknown,
  path = "",
  isOne: (value: unknown) => boolean = () => false,
): [string, unknown][] {
  if (value === null || typeof value !== "object" || isOne(value)) return [[path, value]];
  const below = (key: string): string => (path === "" ? key : `${path}.${key}`);
  return Object.entries(value).flatMap(([key, one]) => valuesByPath(one, below(key), isOne));
}

/** As JSON writes them: what it leaves out, as `undefined`, is no difference. */
function writtenByPath(settings: Settings): Map<string, string> {
  const values = valuesByPath(JSON.parse(JSON.stringify(settings)));
  return new Map(values.map(([path, value]) => [path, JSON.stringify(value)]));
}

/**
 * Compares what a run was begun with and what is asked of it now.
 *
 * @param where - the checkpoint's folder, for the message
 * @param begun - as it was kept
 * @param asked - as it is now
 * @throws ERR_STATE naming each option that differs, with both values
 */
export function checkSettings(where: string, begun: Settings, asked: Settings): void {
  const [before, now] = [writtenByPath(begun), writtenByPath(asked)];
  const names = [...new Set([...before.keys(), ...now.keys()])];
  const other = names.filter((name) => before.get(name) !== now.get(name));
  if (other.length === 0) return;
  const differences = withoutTwins(other).map(
    (name) => `  ${name}: expected ${before.get(name) ?? "none"}, got ${now.get(name) ?? "none"}`,
  );
  const remedy = "Remedy: give the same again, or choose another folder";
  throw new SeekError(
    "ERR_STATE",
    [`${where} was begun with other options:`, ...differences, remedy].join("\n"),
  );
}

/** A flag and the setting that it becomes are one difference: `--lora rank` and `lora.rank`. */
function withoutTwins(names: readonly string[]): string[] {
  const plain = (name: string): string =>
    name.replace(/^--/, "").replace(" ", ".").replaceAll("-", "").toLowerCase();
  return names.filter((name, i) => names.findIndex((each) => plain(each) === plain(name)) === i);
}
