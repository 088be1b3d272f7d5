/** What a folder of libtorch is: its version, the CUDA it was built with, and whether it can be built against and loaded. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { librariesOf, wheelOf } from "./cuda/libraries.mjs";
import { compareVersions } from "./versions.mjs";

/** Oldest and newest minor versions whose C++ interface this source compiles against. */
const OLDEST = "2.11";
const NEWEST = "2.13";
export const supported = `${OLDEST} to ${NEWEST}`;

/** Whether the C++ interface of a version is one that this source knows. */
export function isSupported(version) {
  const minor = version.split(".").slice(0, 2).join(".");
  return compareVersions(minor, OLDEST) >= 0 && compareVersions(minor, NEWEST) <= 0;
}

/** The file of a library as a platform names it: `libc10.so`. */
export const libraryFile = (name, platform = process.platform) =>
  `lib${name}.${platform === "darwin" ? "dylib" : "so"}`;

const textOf = (path) => readFile(path, "utf8").catch(() => "");

/** Major, minor and patch version that a libtorch folder's headers state; `undefined` when none does. */
export async function versionOf(folder) {
  for (const place of ["torch/headeronly/version.h", "torch/version.h"]) {
    const header = await textOf(join(folder, "include", place));
    const part = (name) => new RegExp(`#define TORCH_VERSION_${name} (\\d+)`).exec(header)?.[1];
    const version = [part("MAJOR"), part("MINOR"), part("PATCH") ?? "0"];
    if (!version.includes(undefined)) return version.join(".");
  }
  return undefined;
}

/** The CUDA version that a folder was built with, for example `"13.0"`; undefined for a CPU build. */
export async function cudaOf(folder) {
  if (!existsSync(join(folder, "lib", "libtorch_cuda.so"))) return undefined;
  const stated = /^cuda\b[^=\n]*= *'([\d.]+)'/m.exec(await textOf(join(folder, "version.py")))?.[1];
  if (stated !== undefined) return stated;
  // The archive without Python names it in its version: 2.13.0+cu130.
  const tag = /\+cu(\d+)(\d)/.exec(await textOf(join(folder, "build-version")));
  return tag === null ? "unknown" : `${tag[1]}.${tag[2]}`;
}

/** What is missing, each library with the package that holds it. */
function missingText(missing, cuda) {
  const each = missing.map(({ library, neededBy }) => {
    const wheel = wheelOf(library, cuda);
    return `${library} (needed by ${neededBy}${wheel === undefined ? "" : `; in ${wheel}`})`;
  });
  return `missing ${each.join(", ")}`;
}

/** `undefined` when the folder can be built against and loaded, else the reason why not. */
export async function refusal(folder, { env = process.env, platform = process.platform } = {}) {
  if (!existsSync(folder)) return "there is no such folder";
  const library = libraryFile("torch_cpu", platform);
  if (!existsSync(join(folder, "lib", library))) return `no lib/${library}`;
  if (!existsSync(join(folder, "include", "ATen", "ATen.h"))) return "no include/ATen/ATen.h";
  const version = await versionOf(folder);
  if (version === undefined) return "no version in include/torch/version.h";
  if (!isSupported(version)) return `version ${version}, expected ${supported}`;
  const config = await textOf(join(folder, "share", "cmake", "Torch", "TorchConfig.cmake"));
  if (config.includes("_GLIBCXX_USE_CXX11_ABI=0")) return "built for the old C++ ABI, expected CXX11";
  try {
    const { missing } = librariesOf(folder, { env });
    return missing.length === 0 ? undefined : missingText(missing, (await cudaOf(folder)) ?? "");
  } catch (error) {
    return error.message;
  }
}
