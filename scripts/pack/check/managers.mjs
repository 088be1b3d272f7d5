/** How package managers are told to install from a registry without running scripts, and to run a program. */
import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** npm's programs, beside the one in the path. */
function npmFolder() {
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  return dirname(realpathSync(npm));
}

const yarnVariables = (url, home, linker) => ({
  YARN_ENABLE_SCRIPTS: "false",
  YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
  YARN_ENABLE_TELEMETRY: "false",
  // The checksums' gate for packages of the last days would refuse what was published just now.
  YARN_NPM_MINIMAL_AGE_GATE: "0",
  YARN_NPM_REGISTRY_SERVER: url.replace(/\/$/, ""),
  YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1",
  YARN_GLOBAL_FOLDER: join(home, "yarn"),
  YARN_NODE_LINKER: linker,
});

/** Each: `install`, and what comes before the name of a program; with variables. `tools` is where they are installed. */
export function managersIn(tools) {
  const npm = npmFolder();
  const pnpm = join(tools, "pnpm", "bin", "pnpm.cjs");
  const yarn = join(tools, "@yarnpkg", "cli-dist", "bin", "yarn.js");
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const npmVariables = (url, home) => ({ npm_config_registry: url, npm_config_cache: join(home, "npm") });
  const withYarn = (linker) => ({
    install: [yarn, "add", "seekrl"],
    exec: [yarn, "run"],
    node: [yarn, "node"],
    variables: (url, home) => yarnVariables(url, home, linker),
  });
  return {
    npm: {
      install: [join(npm, "npm-cli.js"), "install", ...flags, "seekrl"],
      exec: [join(npm, "npx-cli.js"), "--no-install"],
      node: [],
      variables: npmVariables,
    },
    pnpm: {
      install: [pnpm, "add", "--ignore-scripts", "seekrl"],
      exec: [pnpm, "exec"],
      node: [],
      variables: (url, home) => ({ ...npmVariables(url, home), npm_config_store_dir: join(home, "pnpm") }),
    },
    yarn: withYarn("node-modules"),
    "yarn-pnp": withYarn("pnp"),
  };
}
