/**
 * `node scripts/measure-structure.mjs`: how large the project is, in the numbers that cost a reader time. The structure test
 * holds each below the limit that stands beside it, which goes down when the number does.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const read = (file) => readFileSync(join(root, file), "utf8");

function filesOf(...patterns) {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "--", ...patterns], {
    cwd: root,
    encoding: "utf8",
  });
  return listed.split("\n").filter((file) => file !== "");
}

const linesOf = (files) => files.reduce((sum, file) => sum + read(file).split("\n").length - 1, 0);
const wordsOf = (files) =>
  files.reduce((sum, file) => sum + read(file).split(/\s+/).filter(Boolean).length, 0);

/** The project's own files that are loaded with a file: neither types nor what is imported when it is used. */
function importedBy(file) {
  const text = read(file).replace(/(?:import|export) type \{[^}]*\} from "[^"]+";/g, "");
  const found = text.matchAll(/(?:from |import )"(\.\.?\/[^"]+)"/g);
  return [...found].map(([, path]) => posix.join(posix.dirname(file), path));
}

/** How many files are loaded with a file, itself included. */
function numNeeded(file) {
  const [seen, waiting] = [new Set([file]), [file]];
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    const next = importedBy(from).filter((each) => !seen.has(each));
    for (const each of next) seen.add(each);
    waiting.push(...next);
  }
  return seen.size;
}

const roomOf = (file) => /^lib\/[^/]+(?=\/)/.exec(file)?.[0];

/** The rooms of `lib`, and how many stand upon each other at most. */
function roomsAndFloors() {
  const uses = new Map();
  for (const file of filesOf("lib/*/**.ts")) {
    const room = roomOf(file);
    const used = [...read(file).matchAll(/(?:from |import\()"(\.\.?\/[^"]+)"/g)]
      .map(([, path]) => roomOf(posix.join(posix.dirname(file), path)))
      .filter((other) => other !== undefined && other !== room);
    uses.set(room, new Set([...(uses.get(room) ?? []), ...used]));
  }
  const floorOf = (room) => 1 + Math.max(0, ...[...uses.get(room)].map(floorOf));
  return { rooms: uses.size, floors: Math.max(...[...uses.keys()].map(floorOf)) };
}

/** Names that leave an entry, types included. */
function numNames(entry) {
  const lists = [...read(entry).matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list]) => list);
  const own = [...read(entry).matchAll(/^export (?:async )?(?:const|function|class|interface|type) \w/gm)];
  return lists.flatMap((list) => list.split(",").filter((name) => name.trim() !== "")).length + own.length;
}

/** Options of the command line: of all commands, distinct ones, and those of `train`. */
async function options() {
  const { commands } = await import(pathToFileURL(join(root, "dist/apps/cli/commands.js")).href);
  const all = commands.flatMap(({ options: schema }) => Object.keys(schema.shape));
  const train = commands.find(({ name }) => name === "train");
  return {
    options: all.length,
    distinctOptions: new Set(all).size,
    trainOptions: Object.keys(train.options.shape).length,
  };
}

/** @returns each measure by its name */
export async function measureStructure() {
  const typescript = filesOf("lib/**.ts", "connectors/**.ts", "apps/**.ts", "web/**.ts", "web/**.tsx");
  return {
    libLines: linesOf(filesOf("lib/**.ts")),
    typescriptLines: linesOf(typescript),
    nativeLines: linesOf(filesOf("native/**.h", "native/**.cpp", "native/**.cu", "native/**.cuh")),
    testLines: linesOf(filesOf("test/**.ts", "test/**.cpp", "test/**.h", "test/**.cu")),
    docsWords: wordsOf(filesOf("docs/**.md", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    ...roomsAndFloors(),
    importedByTrain: numNeeded("apps/cli/commands/train/train.ts"),
    importedByRl: numNeeded("lib/train/rl.ts"),
    names: numNames("lib/index.ts"),
    namesOfAll: filesOf(":(glob)lib/*.ts", ":(glob)apps/*.ts").reduce(
      (sum, entry) => sum + numNames(entry),
      0,
    ),
    ...(await options()),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, value] of Object.entries(await measureStructure()))
    process.stdout.write(`${name.padEnd(16)} ${String(value).padStart(7)}\n`);
}
