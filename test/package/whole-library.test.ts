/** Libraries of macOS that are cut short or of another processor are refused by their headers. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { requireWhole } from "../../lib/base/packages/whole-library.ts";
import { machO } from "./mach-o.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-whole-"));
after(() => rm(scratch, { recursive: true }));

const macos = { platform: "darwin", arch: "arm64" };

async function refused(bytes: Buffer, fault: RegExp): Promise<void> {
  const path = join(scratch, "libc10.dylib");
  await writeFile(path, bytes);
  const error = { code: "ERR_FORMAT", message: fault };
  assert.throws(() => requireWhole(path, "get another", macos), error);
}

test("a library of macOS that is whole is taken, one that was cut short is refused with the least size", async () => {
  const whole = machO({ needed: ["/usr/lib/libc++.1.dylib"] });
  const path = join(scratch, "libtorch.dylib");
  await writeFile(path, whole);
  requireWhole(path, "get another", macos);
  const least = new RegExp(
    `expected at least ${whole.length} bytes, got ${whole.length - 1}: it was cut short`,
  );
  await refused(whole.subarray(0, -1), least);
  await refused(
    whole.subarray(0, 100),
    /expected at least \d+ bytes, got 100: it was cut short\. Remedy: get/,
  );
});

test("on macOS a library for another processor or system is refused", async () => {
  await refused(machO({ machine: 0x01000007 }), /expected a library for arm64, got one for x64/);
  const elf = Buffer.concat([Buffer.from("\x7fELF\x02\x01", "latin1"), Buffer.alloc(100)]);
  await refused(elf, /expected a library of 64-bit macOS, got something else/);
});

test("a library is not looked into where libraries are of another format", () => {
  requireWhole(join(scratch, "nowhere.dll"), "get another", { platform: "win32", arch: "x64" });
});
