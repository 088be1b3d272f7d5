/** The package that holds the addon for this platform, or why there is none. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SeekError } from "../errors.ts";
import { installCommand, packageVersion } from "../package-root.ts";
import { type Host, isOldGlibc, leastGlibc } from "./host.ts";
import { checkSizes, readStamp, type Stamp } from "./stamp.ts";

/** A package whose stamp was read and whose files have their sizes. */
export interface FoundPackage {
  readonly folder: string;
  readonly stamp: Stamp;
}

/** The folder of a package that `seekrl` asks for; undefined where it is not installed. */
export function packageFolder(root: string, name: string): string | undefined {
  const require = createRequire(join(root, "package.json"));
  const folders = require.resolve.paths(name) ?? [];
  const found = folders
    .map((base) => join(base, name))
    .find((each) => existsSync(join(each, "package.json")));
  if (found !== undefined) return found;
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** The package of libtorch for the platform of an addon's package, for example `@seekrl/libtorch-linux-x64`. */
export const libtorchPackage = (name: string): string => name.replace("@seekrl/", "@seekrl/libtorch-");

/** For example `linux-x64`, as packages are named. */
const platformName = ({ platform, arch }: Host): string => `${platform}-${arch}`;

/** Platforms that this version was published for. */
function supported(root: string): string[] {
  const manifest: { readonly optionalDependencies?: object } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const names = Object.keys(manifest.optionalDependencies ?? {});
  return names.filter((name) => /^@seekrl\/(?!libtorch-)/.test(name)).map((name) => name.slice(8));
}

/** Packages for other platforms that are installed: somebody copied node_modules. */
function strangers(root: string, name: string): string[] {
  const paths = createRequire(join(root, "package.json")).resolve.paths("@seekrl/any") ?? [];
  const scope = paths.map((base) => join(base, "@seekrl")).find((each) => existsSync(each));
  const names = scope === undefined ? [] : readdirSync(scope).map((each) => `@seekrl/${each}`);
  return names.filter((each) => each !== name && !each.startsWith("@seekrl/libtorch-"));
}

/** What runs a package of Linux on a system that has none of its own. */
function remedyOn(host: Host, known: readonly string[]): string {
  if (host.platform === "win32") return "install it in WSL 2 (wsl --install)";
  if (host.platform !== "darwin") return "run it on one of these, or in a container of one";
  // A container has this machine's processor, unless another is emulated.
  const platform = known.includes(`linux-${host.arch}`) ? "" : "--platform linux/amd64 ";
  return `install it in a Linux container of Docker (docker run -it ${platform}node:22-slim bash)`;
}

const stateError = (message: string): SeekError => new SeekError("ERR_STATE", message);

/** Refuses a Linux whose C library the addon would not load with, or with which it would die. */
function requireGlibc(root: string, host: Host): void {
  if (host.platform !== "linux") return;
  const found = host.glibc();
  if (found !== undefined && !isOldGlibc(found)) return;
  const version = packageVersion(root);
  const has = `seekrl ${version} has no addon for ${platformName(host)} with`;
  const expected = `expected glibc ${leastGlibc} or later. Remedy: use`;
  throw stateError(
    found === undefined
      ? `${has} musl, Alpine's C library: ${expected} an image of Debian, Ubuntu or Fedora (node:22-slim instead of node:22-alpine).`
      : `${has} glibc ${found}: ${expected} a later system, or an image of one (node:22-slim).`,
  );
}

/** Why there is no package for a host. */
function missing(root: string, host: Host): SeekError {
  const own = platformName(host);
  const name = `@seekrl/${own}`;
  const version = packageVersion(root);
  const known = supported(root);
  const names = known.join(", ");
  if (!known.includes(own))
    return stateError(
      `seekrl ${version} has no addon for ${own}: expected ${names || "no platform"}. ` +
        `Remedy: ${remedyOn(host, known)}.`,
    );
  const others = strangers(root, name);
  const why =
    others.length > 0
      ? `node_modules has ${others.join(", ")}, so it was installed on another platform`
      : "optional dependencies were left out, or a lock file of another platform was used";
  return stateError(
    `${name} is not installed: ${why}. Remedy: remove node_modules and install here, optional dependencies included ` +
      `(${installCommand}); if it is missing again, remove the lock file too.`,
  );
}

/**
 * Finds the package for a host, and holds it against what it says of itself.
 *
 * @param root - folder of `seekrl`
 * @param host - what is run on
 * @returns with a version that is seekrl's, for this Node
 * @throws ERR_STATE where it is not there, or is one of another version; ERR_FORMAT where it is damaged
 */
export function findPlatformPackage(root: string, host: Host): FoundPackage {
  const name = `@seekrl/${platformName(host)}`;
  const folder = packageFolder(root, name);
  // A package that was installed elsewhere and copied here, too.
  if (folder !== undefined || supported(root).includes(platformName(host))) requireGlibc(root, host);
  if (folder === undefined) throw missing(root, host);
  const stamp = readStamp(folder, name);
  const version = packageVersion(root);
  if (stamp.version !== version)
    throw stateError(
      `seekrl is ${version} (${root}), ${name} is ${stamp.version} (${folder}): expected one version. ` +
        `Remedy: npm install seekrl@${version}, and name neither ${name} nor another of @seekrl in package.json.`,
    );
  if ((stamp.napi ?? 0) > host.napi)
    throw stateError(
      `${name} is built for Node-API ${stamp.napi}, this Node has ${host.napi}. Remedy: install Node 20.19 or later.`,
    );
  checkSizes(folder, stamp);
  return { folder, stamp };
}
