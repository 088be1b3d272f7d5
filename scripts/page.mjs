/** Checks the types of the studio's page and builds it into dist/studio, unless it stands there as its sources are. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function changedAt(path) {
  const { mtimeMs } = statSync(path);
  return mtimeMs;
}

/** The page's own sources, and the types that it shares with its server. */
const sources = ["web", join("apps", "studio", "api")];

function isBuilt() {
  const page = join(root, "dist", "studio", "index.html");
  if (!existsSync(page)) return false;
  const files = sources.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  const inputs = [...files, "package-lock.json", join("apps", "studio", "api.ts")];
  return inputs.every((file) => changedAt(join(root, file)) < changedAt(page));
}

function run(...path) {
  const [program, ...args] = path;
  const options = { cwd: root, stdio: ["ignore", "inherit", "inherit"] };
  return spawnSync(process.execPath, [join(root, "node_modules", ...program), ...args], options).status ?? 1;
}

function build() {
  const types = run(["typescript", "bin", "tsc"], "-p", "web/tsconfig.json");
  return types !== 0 ? types : run(["vite", "bin", "vite.js"], "build", "web", "--logLevel", "warn");
}

if (!isBuilt()) process.exitCode = build();
