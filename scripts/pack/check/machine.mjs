/** Where a stranger's commands run: on this system with a path that has next to nothing, or in the root of another system. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { SetupError } from "../../setup/report.mjs";

const run = promisify(execFile);

/** In the path of such a machine: Node, the shell that package managers call programs with, and what that needs. */
const programs = ["sh", "env", "sed", "dirname", "uname", "basename"];

/** What must not be there: whatever could build what is not in the packages. */
const builders = ["cc", "gcc", "g++", "clang", "make", "ninja", "cmake", "python", "python3"];

const folders = ["usr/local/bin", "usr/bin", "bin"];

/** The system that runs this: a folder with Node and a shell is the only one in its path. */
export const thisMachine = {
  async makePath(folder, node) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await symlink(node, join(folder, "node"));
    for (const name of programs) {
      const path = ["/usr/bin", "/bin"].map((each) => join(each, name)).find((each) => existsSync(each));
      if (path !== undefined) await symlink(path, join(folder, name));
    }
    return folder;
  },
  run: ([program, ...args], { cwd, env }) => run(program, args, { cwd, env, maxBuffer: 1 << 26 }),
};

/** Mounts are the called program's own and end with it. Words: root, folder, mounted folders, `--`, the program. */
const enter = `
root=$1 folder=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  shift
done
shift
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
`;

/**
 * Another Linux, unpacked into a folder (of an image, or by debootstrap). It keeps empty folders, where `shared` were mounted.
 *
 * @param root - the folder; it may have nothing that compiles
 * @param shared - folders of this system which it sees at their paths: the project and package managers
 * @throws `ERR_STATE` without a shell, with a compiler, or without the rights to mount
 */
export function machineIn(root, shared) {
  if (!folders.some((folder) => existsSync(join(root, folder, "sh"))))
    throw new SetupError(`${root}: expected the root of a system, found no shell there.`);
  const found = builders.filter((name) => folders.some((folder) => existsSync(join(root, folder, name))));
  if (found.length > 0)
    throw new SetupError(`${root}: expected nothing that compiles, found ${found.join(", ")}.`);
  if (process.getuid?.() !== 0)
    throw new SetupError("--root: expected root's rights, to mount. Remedy: sudo.");
  return {
    async makePath(folder, node) {
      await mkdir(folder, { recursive: true });
      await copyFile(node, join(folder, "node"));
      return [folder, ...folders.map((each) => `/${each}`)].join(":");
    },
    run(command, { cwd, env }) {
      const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      const program = ["--", "env", "-i", ...variables, ...command];
      const args = ["--mount", "sh", "-e", "-c", enter, "enter", root, cwd, ...shared, ...program];
      return run("unshare", args, { maxBuffer: 1 << 26 });
    },
  };
}
