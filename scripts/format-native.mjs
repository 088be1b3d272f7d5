/** Formats the native sources (`--write`) or checks that they are formatted (`--check`). */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { nativeFiles, root } from "./native-files.mjs";

const clangFormat = createRequire(import.meta.url)("clang-format-node").clangFormatPath;
const mode = process.argv[2] === "--write" ? ["-i"] : ["--dry-run", "--Werror"];
const { status } = spawnSync(clangFormat, [...mode, ...nativeFiles()], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
