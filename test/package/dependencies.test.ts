/** What package.json promises about the packages it needs: versions that fit its Node, a lock file and a page that agree. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../project.ts";

interface Entry {
  readonly dev?: boolean;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly engines?: { readonly node?: string };
}

const read = (name: string): string => readFileSync(join(projectRoot, name), "utf8");
const manifest = JSON.parse(read("package.json")) as Required<Entry>;
const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Entry> };

/** Whether one alternative of a range lets a version in: `>=20`, `^20.17.0`, `6.*`. */
function allows(range: string, [major, minor]: readonly number[]): boolean {
  const [, sign = "", least, leastMinor = "0"] = /^\s*(>=|\^|~)?\s*v?(\d+)(?:\.(\d+))?/.exec(range) ?? [];
  if (least === undefined || major === undefined || minor === undefined) return range.trim() === "*";
  if (sign === ">=" && major > Number(least)) return true;
  return major === Number(least) && minor >= Number(leastMinor);
}

test("every package needed at run time runs on the oldest Node in engines", () => {
  const oldest =
    /\d+\.\d+/
      .exec(manifest.engines.node ?? "")?.[0]
      .split(".")
      .map(Number) ?? [];
  const refusing = Object.entries(packages)
    .filter(([, { dev, engines }]) => !dev && engines?.node !== undefined)
    .filter(([, { engines }]) => !engines?.node?.split("||").some((range) => allows(range, oldest)));
  assert.deepEqual(refusing, []);
});

test("dependencies are ranges, and the lock file was made for them", () => {
  const { dependencies, devDependencies } = manifest;
  for (const range of Object.values({ ...dependencies, ...devDependencies }))
    assert.match(range, /^(npm:typescript@)?[\^~]/);
  const locked = packages[""];
  assert.deepEqual([locked?.dependencies, locked?.devDependencies], [dependencies, devDependencies]);
});

test("docs/dependencies.md has a line for every package, and none for others", () => {
  const lines = read("docs/dependencies.md").split("\n");
  const cells = lines.filter((line) => line.startsWith("| `")).map((line) => line.split("|")[1] ?? "");
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  assert.deepEqual(named.sort(), needed.sort());
});
