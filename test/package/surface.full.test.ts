/** The public surface: small, and every type that stands in it can be imported. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { projectRoot } from "../project.ts";
import { everything } from "../public.ts";
import { entries, surface } from "./surface.ts";

const { names, unexported } = surface();

test("every type in a public signature can be imported", () => {
  const missing = unexported.map(({ name, file, usedBy }) => `${name} (${file}), used by ${usedBy}`);
  assert.deepEqual(
    missing,
    [],
    "export each beside its neighbours in lib/*.ts or apps/*.ts, or mark it @internal",
  );
});

test("at most 36 values stand at the front door, and each value and type has one entry", () => {
  const all = Object.values(names).flatMap(({ values, types }) => [...values, ...types]);
  assert.deepEqual(
    all.filter((name, i) => all.indexOf(name) !== i),
    [],
  );
  const atFront = names.seekrl?.values.length ?? Number.NaN;
  assert.ok(atFront <= 36, `${atFront}`);
});

test("what the declarations promise is what the modules export", async () => {
  const found: string[] = [];
  for (const [entry, file] of Object.entries(entries())) {
    const module: object = await import(pathToFileURL(join(projectRoot, "dist", `${file}.js`)).href);
    assert.deepEqual(Object.keys(module).sort(), names[entry]?.values, entry);
    found.push(...Object.keys(module));
  }
  assert.deepEqual(Object.keys(everything).sort(), found.sort(), "test/public.ts holds every entry");
});
