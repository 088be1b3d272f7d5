/** What the machine is beside its GPUs: processor, memory, and the disks of the caches. */
import { readFileSync } from "node:fs";
import { cpus, freemem, totalmem } from "node:os";
import { cacheFolder, hubCacheFolder } from "../../../lib/base/disk/cache-folder.ts";
import { type Disk, diskOf } from "../../../lib/base/disk/disk.ts";
import { bytesText } from "../../../lib/base/disk/free-space.ts";

/** A folder of files that can be fetched again. */
interface Cache extends Disk {
  /** For example `cache`. */
  readonly name: string;
  readonly folder: string;
}

/** What was found. */
export interface FoundHardware {
  readonly processor: string;
  /** Sets of instructions that kernels are written for, as Linux names them; undefined where it is not Linux on x86-64. */
  readonly instructions: readonly string[] | undefined;
  readonly memory: { readonly bytes: number; readonly freeBytes: number };
  readonly caches: readonly Cache[];
}

const known = ["avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16"];

function instructionsIn(text: string): string[] | undefined {
  const flags = /^flags\s*:(.*)$/m.exec(text)?.[1]?.split(" ");
  return flags && known.filter((each) => flags.includes(each));
}

function readInstructions(): string[] | undefined {
  try {
    return instructionsIn(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return undefined;
  }
}

/** Looks at this machine. */
export function findHardware(): FoundHardware {
  const caches = { cache: cacheFolder(""), hub: hubCacheFolder() };
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    instructions: readInstructions(),
    memory: { bytes: totalmem(), freeBytes: freemem() },
    caches: Object.entries(caches).map(([name, folder]) => ({ name, folder, ...diskOf(folder) })),
  };
}

/** What of the processor matters. Nothing but speed depends on it. */
function processorLine({ processor, instructions }: FoundHardware): string {
  if (instructions === undefined) return processor;
  const has = instructions.length === 0 ? "no AVX2: everything runs, slowly" : instructions.join(" ");
  return `${processor}, ${has}`;
}

/** Lines of the doctor. */
export function hardwareLines(hardware: FoundHardware): string[] {
  const { bytes, freeBytes } = hardware.memory;
  return [
    `processor ${processorLine(hardware)}`,
    `memory    ${bytesText(bytes)}, ${bytesText(freeBytes)} free`,
    ...hardware.caches.map(
      ({ name, folder, freeBytes, problem }) =>
        `${name.padEnd(9)} ${folder}, ${problem ?? `${bytesText(freeBytes)} free`}`,
    ),
  ];
}
