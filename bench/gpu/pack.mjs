/**
 * Packs what `bench/gpu/run.sh` takes to a machine with a GPU that has no network and no Node: `node bench/gpu/pack.mjs
 * [ARCHITECTURE]` writes the folder `build/gpu/carry`: an archive of the program that checks the kernels, for one architecture
 * (sm_90), what the emulator leaves of every case, Node with its headers, `dist` and the packages that build and run the engine;
 * beside it a digest of the sources that it is made of, and their commit. It builds what has changed, which takes nvcc, xz and a
 * checkout that is set up (`npm ci`). `--dry` packs the emulator for `run.sh --dry`, of what is built, into `build/gpu-dry/carry`.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const isDry = process.argv.includes("--dry");
const build = join(root, "build", isDry ? "gpu-dry" : "gpu");
const carried = join(build, "carried");
const archive = join(build, "carry", "run.tar.xz");
const architecture = process.argv.slice(2).find((each) => each !== "--dry") ?? "sm_90";
/** `npm run build -- --tests` makes it. */
const emulated = join(root, "build", "cmake", "seekrl_gpu_bench_emulated");
const mostBytes = 64 * 2 ** 20;

/** Besides the dependencies: what builds the addon. */
const builders = ["cmake-js", "node-addon-api", "usearch"];

const run = (program, args) => execFileSync(program, args, { cwd: root, stdio: "inherit" });

/** Folders of packages and of all that they need, as package-lock.json has them. */
function closure(names) {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  /** As Node looks: in the package's own folder, then in those around it. */
  const resolve = (from, name) => {
    for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf("/node_modules/")))) {
      const path = `${base}${base && "/"}node_modules/${name}`;
      if (packages[path]) return path;
      if (base === "") return undefined;
    }
  };
  const found = new Set();
  const visit = (from, name) => {
    const path = resolve(from, name);
    if (path === undefined || found.has(path) || !existsSync(join(root, path))) return;
    found.add(path);
    const { dependencies = {}, optionalDependencies = {} } = packages[path];
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) visit(path, needed);
  };
  for (const name of names) visit("", name);
  return [...found].sort();
}

/** Where this Node's headers are: beside it, as every archive of Node has them. */
function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath));
  const headers = join(prefix, "include", "node");
  if (existsSync(join(headers, "node_api.h"))) return headers;
  throw new Error(`${headers}: expected Node's headers beside ${process.execPath}`);
}

/** This Node, which needs its symbols for nothing here. */
function copyNode() {
  const node = join(carried, "node");
  mkdirSync(join(node, "bin"), { recursive: true });
  mkdirSync(join(node, "include"), { recursive: true });
  copyFileSync(process.execPath, join(node, "bin", "node"));
  if (!isDry) run("strip", ["--strip-unneeded", join(node, "bin", "node")]);
  run("cp", ["-r", nodeHeaders(), join(node, "include")]);
}

function pack() {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const packages = closure([...Object.keys(dependencies), ...builders]);
  const unneeded = ["include/node/openssl", "*.map", "*.d.ts", "*.node", "dist/site"];
  const excluded = unneeded.map((name) => `--exclude=${name}`);
  const what = [relative(root, carried), "dist", ...packages];
  mkdirSync(dirname(archive), { recursive: true });
  run("tar", [
    `--use-compress-program=xz -T0 ${isDry ? "-0" : "-9e"}`,
    "-cf",
    archive,
    "--transform=s,^build/gpu-dry/,build/gpu/,",
    ...excluded,
    ...what,
  ]);
}

const program = isDry ? emulated : join(build, `bench-${architecture}`);
if (!isDry) {
  run(process.execPath, ["scripts/setup/install.mjs", "--tests"]);
  run("bash", ["bench/gpu/kernels/build.sh", build, architecture]);
}
rmSync(carried, { recursive: true, force: true });
mkdirSync(join(carried, "fixtures"), { recursive: true });
run(emulated, ["--write", join(carried, "fixtures")]);
copyFileSync(program, join(carried, "bench"));
copyNode();
pack();
const said = (command, args) => execFileSync(command, args, { cwd: root, encoding: "utf8" });
const digest = said("bash", ["bench/gpu/digest.sh"]);
writeFileSync(join(dirname(archive), "digest"), digest);
const isChanged = said("git", ["status", "--porcelain", "--untracked-files=no"]) !== "";
const commit = said("git", ["rev-parse", "HEAD"]).trim();
writeFileSync(join(dirname(archive), "commit"), `${commit}${isChanged ? " and changes" : ""}\n`);
// Here it is unpacked already.
const sum = said("sh", ["-c", 'sha256sum <"$0"', archive]);
writeFileSync(join(build, "unpacked"), `${digest.trim()} ${sum}`);
const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
const numTracked = tracked.filter(Boolean).reduce((sum, file) => sum + statSync(join(root, file)).size, 0);
const numCarried = statSync(archive).size;
process.stdout.write(
  `${relative(root, archive)}: ${megabytes(numCarried)}, beside ${megabytes(numTracked)} of tracked files\n`,
);
// A rehearsal packs quickly and not small.
if (!isDry && numCarried + numTracked > mostBytes)
  throw new Error(`expected ${megabytes(mostBytes)} at most in all`);
