/** A libtorch that was moved away, or may not be read, is said to be. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { libtorchLibraries } from "../../lib/base/addon/libtorch.ts";

test("a libtorch folder gives its libraries in order, and one that lacks some is refused by name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    const missing = { code: "ERR_STATE", message: /expected libc10\.so in .*: ENOENT.* npm run build/ };
    assert.throws(() => libtorchLibraries({ folder }, "linux"), missing);
    await mkdir(join(folder, "lib"));
    const names = ["libc10.so", "libtorch.so", "libtorch_cpu.so"];
    for (const name of names) await writeFile(join(folder, "lib", name), "");
    const found = libtorchLibraries({ folder }, "linux").map((path) => basename(path));
    assert.deepEqual(found, ["libc10.so", "libtorch_cpu.so", "libtorch.so"]);
    const onMacos = ["libomp.dylib", "libc10.dylib", "libtorch_cpu.dylib", "libtorch.dylib"];
    for (const name of onMacos) await writeFile(join(folder, "lib", name), "");
    assert.deepEqual(
      libtorchLibraries({ folder }, "darwin").map((path) => basename(path)),
      onMacos,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
