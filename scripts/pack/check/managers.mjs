/** How package managers are told to install from a registry without running scripts, and to run a program. */
import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** npm's programs, beside the one in the path. */
function npmFolder() {
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  return dirname(realpathSync(npm));
}

const yarnVariables = (url, home) => ({
  YARN_ENABLE_SCRIPTS: "false",
  YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
  YARN_ENABLE_TELEMETRY: "false",
  // What was published just now is refused otherwise.
  YARN_NPM_MINIMAL_AGE_GATE: "0",
  YARN_NPM_REGISTRY_SERVER: url.replace(/\/$/, ""),
  YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1",
  YARN_GLOBAL_FOLDER: join(home, "yarn"),
  // Plug'n'Play's file system has no fsync, which whole files need.
  YARN_NODE_LINKER: "node-modules",
});

/** Each: `install`, and what comes before the name of a program; with variables. `tools` is where they are installed. */
export function managersIn(tools) {
  const npm = npmFolder();
  const pnpm = join(tools, "pnpm", "bin", "pnpm.cjs");
  const yarn = join(tools, "@yarnpkg", "cli-dist", "bin", "yarn.js");
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const npmVariables = (url, home) => ({ npm_config_registry: url, npm_config_cache: join(home, "npm") });
  return {
    npm: {
      install: [join(npm, "npm-cli.js"), "install", ...flags, "seekrl"],
      exec: [join(npm, "npx-cli.js"), "--no-install"],
      variables: npmVariables,
    },
    pnpm: {
      install: [pnpm, "add", "--ignore-scripts", "seekrl"],
      exec: [pnpm, "exec"],
      variables: (url, home) => ({ ...npmVariables(url, home), npm_config_store_dir: join(home, "pnpm") }),
    },
    yarn: { install: [yarn, "add", "seekrl"], exec: [yarn, "run"], variables: yarnVariables },
  };
}
