/** Packages, and what is made of them, at their first use: importing SeekRL loads none of them. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { z as Zod } from "zod";

const require = createRequire(import.meta.url);

/**
 * A value that is made when it is first asked for.
 *
 * @param make - is called once at most
 * @returns gives the same value every time
 */
export function onFirstUse<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * A dependency that is loaded when it is first asked for, at once and in the form that `import` gives.
 *
 * @param name - of the package
 * @returns gives the module: `lazyPackage<typeof import("pg")>("pg")().Pool`
 */
export function lazyPackage<Module>(name: string): () => Module {
  // By its file, because by name `require` may load a second copy, made for CommonJS.
  return onFirstUse(() => require(fileURLToPath(import.meta.resolve(name))) as Module);
}

const zodPackage = lazyPackage<{ readonly z: typeof Zod }>("zod");

/**
 * Zod, loaded when it is first asked for.
 *
 * @returns what `import { z } from "zod"` gives
 */
export function zod(): typeof Zod {
  return zodPackage().z;
}

/**
 * A schema that is made when it is first asked for.
 *
 * @param make - is given zod
 * @returns gives the same schema every time
 */
export function lazySchema<Schema>(make: (z: typeof Zod) => Schema): () => Schema {
  return onFirstUse(() => make(zod()));
}
