/** Tarballs as npm packs them, for tests of what is made of them. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** What the manifest of every package says. */
interface Manifest extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly version: string;
}

/** Packs a manifest, and nothing else unless given, into a folder; gives the tarball's path. */
export async function writeTarball(
  folder: string,
  manifest: Manifest,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = join(folder, `${manifest.name.replace(/\W/g, "-")}-${manifest.version}.tgz`);
  const staged = await mkdtemp(join(tmpdir(), "seekrl-staged-"));
  const texts = { ...files, "package.json": JSON.stringify({ license: "Apache-2.0", ...manifest }) };
  for (const [file, text] of Object.entries(texts)) {
    await mkdir(dirname(join(staged, "package", file)), { recursive: true });
    await writeFile(join(staged, "package", file), text);
  }
  execFileSync("tar", ["-czf", path, "-C", staged, "package"]);
  await rm(staged, { recursive: true });
  return path;
}
