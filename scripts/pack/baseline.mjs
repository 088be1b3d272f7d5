/** Refuses a library that would not load on the oldest system that is promised: glibc 2.28 and the libstdc++ of g++ 8, macOS 14. */
import { execFile } from "node:child_process";
import { basename } from "node:path";
import { promisify } from "node:util";
import { SetupError } from "../setup/report.mjs";
import { compareVersions } from "../setup/versions.mjs";
import { machOOf } from "./mach-o.mjs";

const run = promisify(execFile);

/** The newest version of each family of symbols that is there, of what g++ 8 came with. */
const newest = { GLIBC: "2.28", GLIBCXX: "3.4.25", CXXABI: "1.3.11", GCC: "8.0", GOMP: "4.5", OMP: "4.5" };

/** Rows of a library's table of dynamic symbols: `name@VERSION`, where it is defined (`UND`: elsewhere), how it binds. */
async function symbolsOf(path) {
  const { stdout } = await run("readelf", ["--wide", "--dyn-syms", path], { maxBuffer: 1 << 28 });
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/));
  return rows.map(([, , , , binding, , place, symbol = ""]) => ({ binding, place, symbol }));
}

/** Names that libraries have for others, without versions. */
async function providedBy(paths) {
  const names = new Set();
  for (const path of paths)
    for (const { place, symbol } of await symbolsOf(path))
      if (place !== "UND") names.add(symbol.split("@")[0]);
  return names;
}

/** Whether the oldest system has a symbol, or, if it has no version, Node or a neighbour. */
function isThere(symbol, provided) {
  const [name, version] = symbol.split("@");
  if (version === undefined) return /^(napi|node_api)_/.test(name) || provided.has(name);
  const [, family, number] = /^([A-Z]+)_([\d.]+)$/.exec(version) ?? [];
  return newest[family] !== undefined && compareVersions(number, newest[family]) <= 0;
}

/**
 * Symbols that libraries need and that are younger than what is promised.
 *
 * @param paths - the libraries
 * @param neighbours - others that are open by then, libtorch's: they hold parts of a later libstdc++ for all who need them
 */
export async function youngerSymbols(paths, neighbours = []) {
  const provided = await providedBy([...paths, ...neighbours]);
  const younger = [];
  for (const path of paths)
    for (const { binding, place, symbol } of await symbolsOf(path))
      if (place === "UND" && binding === "GLOBAL" && !isThere(symbol, provided))
        younger.push(`${symbol} (${basename(path)})`);
  return younger;
}

/** What CMakeLists.txt has the addons made for. */
const leastMacos = "14.0";

/** What keeps libraries of macOS from a stranger's: a younger system, a library at a path of this machine's alone. */
function faultsOnMacos(path) {
  const { least, needed } = machOOf(path);
  const faults = needed.filter((name) => !/^(@|\/usr\/lib\/|\/System\/)/.test(name));
  if (compareVersions(least, leastMacos) > 0) faults.unshift(`macOS ${least}`);
  return faults.map((fault) => `${fault} (${basename(path)})`);
}

/** Throws a SetupError that names what is younger or elsewhere; as {@link youngerSymbols}. */
export async function requireBaseline(paths, neighbours) {
  const ofMacos = paths.filter((path) => machOOf(path) !== undefined);
  const faults = ofMacos.flatMap(faultsOnMacos);
  if (faults.length > 0)
    throw new SetupError(`macOS ${leastMacos} lacks what is needed here: ${faults.join(", ")}.`);
  if (ofMacos.length > 0) return;
  const younger = await youngerSymbols(paths, neighbours);
  if (younger.length > 0)
    throw new SetupError(
      `glibc ${newest.GLIBC} and the libstdc++ of g++ 8 lack what is needed here: ${younger.join(", ")}. ` +
        "Remedy: a line in native/baseline for each.",
    );
}
