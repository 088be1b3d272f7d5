/** `seekrl setup cuda`: a driver, a CUDA torch that fits it, the addons built against it, a check on the GPU. */
import { mkdir, mkdtemp, readdir, rm, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { adopt, cachedCuda, cacheRoot, pythonTorch } from "../libtorch.mjs";
import { bytesText, SetupError, say } from "../report.mjs";
import { cudaOf, isSupported, refusal, supported, versionOf } from "../torch-folder.mjs";
import { readFromZip, unzip } from "../unzip.mjs";
import { DownloadProgress, download } from "./download.mjs";
import { BUILDS, buildsFor, findDriver, runsCuda } from "./driver.mjs";
import { findNvcc, requireNvcc } from "./nvcc.mjs";
import { neededWheels, torchWheel, WheelIndex } from "./wheel-index.mjs";

/** Where torch's wheels of each build are: a folder of it for each tag. */
const DEFAULT_INDEX = "https://download.pytorch.org/whl";

/** Of a wheel of torch, what a program in C++ needs; of the others all that is native. */
const isWanted = (name) =>
  /^torch\/(lib\/|include\/|share\/cmake\/|version\.py$)/.test(name) ||
  /\.so(\.\d+)*$/.test(name) ||
  /\.dist-info\/(METADATA|licen[cs]es?)/i.test(name);

function tell(driver, builds) {
  for (const { name, capability, gib } of driver.gpus)
    say(
      `GPU: ${name}, compute capability ${capability}${gib === undefined ? "" : `, ${gib.toFixed(1)} GiB`}`,
    );
  const tags = builds.map(({ tag }) => tag).join(", ");
  if (driver.gpus.length === 0) say(`no GPU here; torch build that was asked for: ${tags}`);
  else say(`driver: ${driver.version}; torch builds that run on it: ${tags}`);
}

/** The builds to look for: the one asked for, or those of the driver. */
function buildsOf(driver, tag) {
  if (tag === undefined) return buildsFor(driver);
  const build = BUILDS.find((each) => each.tag === tag);
  if (build === undefined)
    throw new SetupError(
      `build: expected one of ${BUILDS.map((each) => each.tag).join(", ")}, got ${tag}`,
      "ERR_RANGE",
    );
  // A machine that only prepares, such as one that builds an image, has no GPU; of a container's host the driver is seen.
  if (driver.gpus.length === 0 || buildsFor(driver).includes(build)) return [build];
  throw new SetupError(
    `build ${tag} does not run on driver ${driver.version} and its GPUs. Remedy: leave --build out, or install driver ${build.own} or later.`,
    "ERR_DEVICE",
  );
}

/** Versions of torch that will do: those that compile, or the one that a packaged addon was built for. */
const wantedOf = (addon) => addon?.libtorch ?? supported;

const fitsVersion = (version, addon) =>
  addon === undefined ? isSupported(version) : version.split("+")[0] === addon.libtorch;

/** Whether a torch of a CUDA runs: of one of the builds, or of a version that no build has and the driver runs. */
function runsHere(cuda, builds, driverVersion) {
  if (cuda === "unknown" || builds.some((build) => build.cuda === cuda)) return true;
  const isOther = !BUILDS.some((build) => build.cuda === cuda);
  return isOther && driverVersion !== undefined && runsCuda(driverVersion, cuda);
}

/** Why a folder is of no use with these builds; undefined when it is. */
async function misfit(folder, { builds, driverVersion, env, addon }) {
  const cuda = await cudaOf(folder);
  const version = await versionOf(folder);
  if (cuda === undefined && version !== undefined) return "a CPU build";
  const reason = await refusal(folder, { env });
  if (reason !== undefined) return reason;
  if (!fitsVersion(version, addon)) return `version ${version}, expected ${wantedOf(addon)}`;
  if (runsHere(cuda, builds, driverVersion)) return undefined;
  return `of CUDA ${cuda}, expected ${builds.map((build) => build.cuda).join(", ")}`;
}

/** A CUDA torch that is on the machine already. SEEKRL_LIBTORCH is used or refused, never passed over. */
async function findTorch(wanted) {
  const { env, addon } = wanted;
  if (env.SEEKRL_LIBTORCH) {
    const folder = resolve(env.SEEKRL_LIBTORCH);
    const reason = await misfit(folder, wanted);
    if (reason === undefined) return folder;
    throw new SetupError(
      `SEEKRL_LIBTORCH: ${folder}: ${reason}. Remedy: point it at a CUDA libtorch ${wantedOf(addon)} that is complete, or unset it.`,
    );
  }
  const { folder: own, python } = await pythonTorch(env);
  for (const folder of [...(await cachedCuda(env)), ...(own === undefined ? [] : [own])]) {
    const reason = await misfit(folder, wanted);
    if (reason === undefined) return folder;
    say(`passed over ${folder}: ${reason}`);
  }
  if (own === undefined)
    say(
      `no torch in ${python ?? "python3"}: that of another environment is found when it is active, or named in SEEKRL_LIBTORCH`,
    );
  return undefined;
}

/** Torch's wheel of the first build that the index has. */
async function chooseWheel(base, builds, { addon, signal, fetch }) {
  for (const build of builds) {
    const index = new WheelIndex(`${base.replace(/\/*$/, "")}/${build.tag}`, { signal, fetch });
    const torch = await torchWheel(index, build.tag, (version) => fitsVersion(version, addon));
    if (torch !== undefined) return { index, torch, tag: build.tag };
    say(`${index.url}: no torch ${wantedOf(addon)} for this machine`);
  }
  throw new SetupError(
    `no torch ${wantedOf(addon)} of ${builds.map(({ tag }) => tag).join(", ")} was found at ${base}. ` +
      "Remedy: name an index that has one with --index.",
    "ERR_REMOTE",
  );
}

async function sized(index, wheels) {
  return Promise.all(wheels.map(async (wheel) => ({ ...wheel, size: await index.sizeOf(wheel) })));
}

/** Bytes of a folder's files. */
async function bytesIn(folder) {
  const files = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))));
  return files.reduce((sum, { size }) => sum + size, 0);
}

const total = (wheels) => wheels.reduce((sum, { size = 0 }) => sum + size, 0);

/** What would be fetched, line by line; without metadata beside the wheel, the libraries are known after it is here. */
async function plan({ index, torch }) {
  const metadata = await index.metadataOf(torch);
  const needed = metadata === undefined ? undefined : await neededWheels(index, metadata);
  const wheels = await sized(index, [{ name: "torch", ...torch }, ...(needed ?? [])]);
  for (const { file, size } of wheels) say(`  ${file}${size === undefined ? "" : `, ${bytesText(size)}`}`);
  if (needed === undefined) say("  and the nvidia libraries that it names");
  return { wheels, isComplete: needed !== undefined };
}

/** Refuses a disk that does not hold the wheels; what they unpack to is known when it is unpacked. */
async function requireRoom(folder, numBytes) {
  const { bavail, bsize } = await statfs(folder);
  if (numBytes <= bavail * bsize) return;
  throw new SetupError(
    `${folder}: expected room for ${bytesText(numBytes)}, and as much again to unpack it, got ${bytesText(bavail * bsize)}. ` +
      "Remedy: make room, or set SEEKRL_CACHE to a folder on another file system.",
    "ERR_IO",
  );
}

/** Downloads and unpacks everything beside its place, and moves it there when it is whole. */
async function fetchTorch({ index, torch, tag }, { env, signal, pauseMs }) {
  const root = cacheRoot(env);
  const downloads = join(root, "downloads");
  await mkdir(downloads, { recursive: true });
  const { wheels, isComplete } = await plan({ index, torch });
  await requireRoom(root, total(wheels) - (await bytesIn(downloads)));
  const progress = new DownloadProgress(total(wheels));
  const get = (wheel) => download(index, wheel, downloads, { progress, signal, pauseMs });
  const files = [];
  for (const wheel of wheels) files.push(await get(wheel));
  if (!isComplete) {
    const metadata = (await readFromZip(files[0], /^torch-[^/]*\.dist-info\/METADATA$/)) ?? "";
    for (const wheel of await neededWheels(index, metadata)) files.push(await get(wheel));
  }
  progress.end();
  const work = await mkdtemp(join(root, "unpacking-"));
  try {
    for (const file of files) await unzip(file, work, isWanted);
    const name = `libtorch-${torch.version.split("+")[0]}-${tag}`;
    const reason = await refusal(join(work, "torch"), { env });
    if (reason !== undefined)
      throw new SetupError(`${name} as downloaded is of no use: ${reason}`, "ERR_FORMAT");
    const home = join(root, name);
    // What stands there was passed over: it is of no use.
    await rm(home, { recursive: true, force: true });
    await adopt(work, home);
    await rm(downloads, { recursive: true, force: true });
    return join(home, "torch");
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Half-unpacked folders of set-ups that were killed. */
async function removeLeftovers(root) {
  const names = await readdir(root).catch(() => []);
  for (const name of names.filter((each) => each.startsWith("unpacking-")))
    await rm(join(root, name), { recursive: true, force: true });
}

/** Refuses a driver that does not run the kernels of a package. */
function requireKernels({ kernels }, driverVersion) {
  if (kernels === undefined)
    throw new SetupError(
      "the installed package has no kernels for GPUs. Remedy: build from a clone (npm ci).",
    );
  if (driverVersion !== undefined && !runsCuda(driverVersion, kernels))
    throw new SetupError(
      `the package's kernels are of CUDA ${kernels}, which driver ${driverVersion} does not run. Remedy: install driver ` +
        `${BUILDS[0].least} or later.`,
      "ERR_DEVICE",
    );
}

/**
 * Sets up a CUDA build.
 *
 * @param options - `addon` of a package, which is not built: the `libtorch` that it needs and the CUDA of its `kernels`; `index` of packages; `build`, a tag, in place of the driver's choice; `dryRun` changes nothing; `pauseMs`
 *   before a download is tried again
 * @param parts - `build(folder)` builds the addons against a libtorch, or chooses it for those of the package; `check()` checks the GPU, and returns
 *   what it found
 * @returns what there is now: folder, version, CUDA, driver, GPUs, what the check found
 */
export async function setUpCuda(options, parts) {
  const { index = DEFAULT_INDEX, build, dryRun = false, env = process.env, addon } = options;
  const driver = await findDriver(env);
  const builds = buildsOf(driver, build);
  tell(driver, builds);
  // What is prepared for another machine runs on that one's driver.
  const driverVersion = driver.gpus.length === 0 ? undefined : driver.version;
  if (addon === undefined) requireNvcc(await findNvcc(env), driverVersion);
  else requireKernels(addon, driverVersion);
  let folder = await findTorch({ builds, driverVersion: build ? undefined : driverVersion, env, addon });
  if (folder === undefined) {
    const chosen = await chooseWheel(index, builds, options);
    say(
      `torch ${chosen.torch.version}: ${dryRun ? "would be downloaded" : "downloading"} into ${cacheRoot(env)}`,
    );
    if (dryRun) {
      const { wheels } = await plan(chosen);
      return { dryRun, driver: driver.version, torch: chosen.torch.version, bytes: total(wheels) };
    }
    await removeLeftovers(cacheRoot(env));
    folder = await fetchTorch(chosen, { ...options, env });
  }
  const [version, cuda] = [await versionOf(folder), await cudaOf(folder)];
  say(`libtorch ${version} with CUDA ${cuda}: ${folder}`);
  if (dryRun) {
    say(`would ${addon === undefined ? "build the addons against it" : "choose it"} and check the GPU`);
    return { dryRun, driver: driver.version, torch: version, bytes: 0 };
  }
  await parts.build(folder);
  const found = { folder, torch: version, cuda, driver: driver.version, gpus: driver.gpus };
  if (driver.gpus.length === 0) {
    say("there is no GPU here: what was built is not tried");
    return { ...found, checked: undefined };
  }
  return { ...found, checked: await parts.check() };
}
