/** Why libraries do not load, in words that say what to do: the loader's own are for those who build them. */
import { SeekError } from "../errors.ts";
import { type Host, leastGlibc, leastMacos } from "./host.ts";
import { reinstall } from "./stamp.ts";

/** What the loader's complaints mean; `own` is this machine's glibc. */
const meanings: readonly (readonly [RegExp, (own: string) => string])[] = [
  [
    /version [`'"]?GLIBC_/,
    (own) => `this system has ${own}, glibc ${leastGlibc} or later is expected. Remedy: a later system`,
  ],
  [/newer than running OS/, () => `macOS ${leastMacos} or later is expected. Remedy: a later system`],
  [
    /version [`'"]?(GLIBCXX|CXXABI)_/,
    () => "the libstdc++ of this process is older than g++ 8's. Remedy: a later one first in LD_LIBRARY_PATH",
  ],
  [
    /(libcu|libnv|libnccl)\w*\.so[.\d]*[:'"`]/,
    () => "NVIDIA's libraries are not those that this libtorch was built with. Remedy: npx seekrl setup cuda",
  ],
  [
    /file too short|invalid ELF header|ELF load command|not a mach-o/i,
    () => `the file is damaged. Remedy: ${reinstall()}`,
  ],
  [
    /wrong ELF class|incompatible architecture|cannot open shared object file.*ld-musl/,
    () => `the file is of another platform. Remedy: ${reinstall()}`,
  ],
  [
    /Operation not permitted|failed to map segment/,
    () => "the file system forbids to run what is on it (noexec). Remedy: install elsewhere",
  ],
  [
    /([^ :]+): cannot open shared object file|Library not loaded/,
    () => "a library that it needs is missing. Remedy: install it, or npx seekrl doctor",
  ],
];

function glibcText(host: Host): string {
  const glibc = host.glibc();
  if (glibc === undefined) return "no glibc";
  return `glibc ${glibc === "unknown" ? "of an unknown version" : glibc}`;
}

/**
 * The error of libraries that do not load.
 *
 * @param cause - what the loader threw
 * @param host - what is run on
 * @returns ERR_STATE with the loader's words, their meaning and a remedy
 */
export function loadFailure(cause: unknown, host: Host): SeekError {
  const said = (cause as Error).message.trim();
  const meaning = meanings.find(([pattern]) => pattern.test(said))?.[1](glibcText(host));
  const text = meaning ?? "Remedy: npx seekrl doctor says what this machine lacks";
  return new SeekError("ERR_STATE", `the native addon cannot be loaded: ${said}: ${text}.`, { cause });
}
