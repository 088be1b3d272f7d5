/** Configurations of several runs beside each other: every option by its path, and whether all agree. */

/** One option of one run, its value as JSON. */
export interface Setting {
  readonly path: string;
  readonly value: string;
}

/** One option of all runs. */
interface SettingRow {
  readonly path: string;
  /** One for each run; undefined where it has no such option. */
  readonly values: readonly (string | undefined)[];
  readonly differs: boolean;
}

/**
 * Compares configurations.
 *
 * @param configs - the options of each run
 * @returns a row for each option that any of them has, by path
 */
export function diffOf(configs: readonly (readonly Setting[])[]): SettingRow[] {
  const byPath = configs.map((config) => new Map(config.map(({ path, value }) => [path, value])));
  const paths = [...new Set(configs.flatMap((config) => config.map(({ path }) => path)))].sort();
  return paths.map((path) => {
    const values = byPath.map((each) => each.get(path));
    return { path, values, differs: new Set(values).size > 1 };
  });
}
