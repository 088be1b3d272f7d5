/** Programs on a disk that is full or read-only: mounted for them alone, and gone with them. */
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { skipUnless } from "../../skip-unless.ts";

/** Removed when the file's tests are over. */
export const scratch = await mkdtemp(join(tmpdir(), "disks-"));
after(() => rm(scratch, { recursive: true }));

const own = ["--mount", "--map-root-user"];
const mounts = (): boolean =>
  spawnSync("unshare", [...own, "mount", "-t", "tmpfs", "tmpfs", scratch]).status === 0;

/** Why these tests do not run here. */
export const skip = skipUnless(
  mounts(),
  "unshare, which mounts disks for one program, may not be called here",
);

const shells = {
  /** `KIB` of it are free. */
  full: (kib: number) => `mount -t tmpfs -o size=${Math.max(1024, kib)}k tmpfs "$DISK"
    head -c ${Math.max(0, 1024 - kib) * 1024} /dev/zero > "$DISK/others"`,
  readOnly: () => 'mount --bind "$DISK" "$DISK"; mount -o remount,bind,ro "$DISK"',
};

/** What a program left behind: its words, and the files on the disk. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly files: readonly string[];
}

/** A disk to run Node on. */
export interface Disk {
  readonly folder: string;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Outcome>;
}

let count = 0;

/** Makes one. `full` has a megabyte, of which `kib` are free; more when more shall be free. */
export async function disk(kind: keyof typeof shells, kib = 4): Promise<Disk> {
  const folder = join(scratch, `${kind}-${count++}`);
  const list = `${folder}.txt`;
  await mkdir(folder);
  const shell = `set -e; ${shells[kind](kib)}; set +e
    "$@"; code=$?; cd "$DISK"; find . -type f ! -name others > "${list}"; exit $code`;
  const run: Disk["run"] = async (args, env = {}) => {
    const outcome = await new Promise<Omit<Outcome, "files">>((resolve) => {
      const all = [...own, "sh", "-c", shell, "sh", process.execPath, ...args];
      const options = { env: { ...process.env, DISK: folder, ...env }, maxBuffer: 1 << 26 };
      execFile("unshare", all, options, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
    const files = (await readFile(list, "utf8")).split("\n").filter(Boolean);
    return { ...outcome, files: files.map((each) => each.slice(2)).sort() };
  };
  return { folder, run };
}
