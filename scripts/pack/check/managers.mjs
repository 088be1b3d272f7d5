/** How package managers are told to install from a registry without running scripts, and to run a program. */
import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

/** The folder of npm's package, beside the one in the path. */
export function npmFolder() {
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  return dirname(dirname(realpathSync(npm)));
}

/** bun's program lies in a package for the platform; its own package copies it in an install script. */
function bunIn(tools) {
  const cpu = process.arch === "arm64" ? "aarch64" : process.arch;
  return join(tools, "@oven", `bun-${process.platform}-${cpu}`, "bin", "bun");
}

const npmVariables = (url, home) => ({ npm_config_registry: url, npm_config_cache: join(home, "npm") });

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

/**
 * Each: what adds the package to a project, what installs what a project asks for, what comes before the name of a program and of a
 * script of the project, with variables.
 *
 * @param tools - the folder `node_modules` that has them
 * @param node - the Node that runs them; bun is a program of its own, and runs ours with this one
 */
export function managersIn(tools, node) {
  const npm = (name) => [node, join(npmFolder(), "bin", name)];
  const pnpm = [node, join(tools, "pnpm", "bin", "pnpm.cjs")];
  const yarn = [node, join(tools, "@yarnpkg", "cli-dist", "bin", "yarn.js")];
  const bun = bunIn(tools);
  return {
    npm: {
      add: [...npm("npm-cli.js"), "install", "--ignore-scripts", "--no-audit", "--no-fund", "seekrl"],
      install: [...npm("npm-cli.js"), "install", "--ignore-scripts", "--no-audit", "--no-fund"],
      script: [...npm("npm-cli.js"), "run"],
      exec: [...npm("npx-cli.js"), "--no-install"],
      variables: npmVariables,
    },
    pnpm: {
      add: [...pnpm, "add", "--ignore-scripts", "seekrl"],
      install: [...pnpm, "install", "--ignore-scripts"],
      script: [...pnpm, "run"],
      exec: [...pnpm, "exec"],
      variables: (url, home) => ({ ...npmVariables(url, home), npm_config_store_dir: join(home, "pnpm") }),
    },
    yarn: {
      add: [...yarn, "add", "seekrl"],
      install: [...yarn, "install"],
      exec: [...yarn, "run"],
      script: [...yarn, "run"],
      variables: yarnVariables,
    },
    bun: {
      add: [bun, "add", "--ignore-scripts", "seekrl"],
      install: [bun, "install", "--ignore-scripts"],
      script: [bun, "run"],
      exec: [bun, "run"],
      variables: (url, home) => ({ BUN_CONFIG_REGISTRY: url, BUN_INSTALL_CACHE_DIR: join(home, "bun") }),
    },
  };
}
