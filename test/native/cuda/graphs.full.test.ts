/** The library that captures launches, as built for CUDA: what it needs of libtorch is what every build of libtorch has. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { builtLibtorch } from "../../package/planted.ts";
import { projectRoot } from "../../project.ts";

const library = join(projectRoot, "build", "cmake", "Release", "libseekrl_graphs.so");
const skip = !existsSync(library) && "built without nvcc";

/** Names in a library's table of dynamic symbols, with their versions. */
function symbolsOf(path: string, which: "--defined-only" | "--undefined-only"): string[] {
  const rows = execFileSync("nm", ["--dynamic", which, path], { encoding: "utf8", maxBuffer: 2 ** 28 });
  return rows.split("\n").flatMap((row) => / [A-TV-Z]? ?([^ ]+)$/i.exec(row)?.[1] ?? []);
}

test("the library of graphs is linked with none of CUDA's libraries, libtorch's or NVIDIA's", {
  skip,
}, () => {
  const dynamic = execFileSync("readelf", ["--dynamic", library], { encoding: "utf8" });
  const needed = [...dynamic.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name = ""]) => name);
  const system = /^(?:lib(?:c|dl|gcc_s|m|pthread|rt|stdc\+\+)|ld-linux-[\w-]+)\.so\.\d+$/;
  assert.deepEqual(
    needed.filter((name) => !system.test(name)),
    ["libc10.so"],
  );
  assert.ok(symbolsOf(library, "--defined-only").includes("seekrl_graphs"));
});

test("what the library of graphs needs and no system library has, libc10 has", { skip }, () => {
  const own = symbolsOf(library, "--undefined-only").filter((name) => !name.includes("@"));
  const loader = /^(?:_ITM_\w+TMCloneTable|__gmon_start__)$/;
  const provided = new Set(symbolsOf(join(builtLibtorch(), "lib", "libc10.so"), "--defined-only"));
  const wanted = own.filter((name) => !loader.test(name));
  assert.ok(wanted.some((name) => name.includes("GetAllocator")));
  assert.deepEqual(
    wanted.filter((name) => !provided.has(name)),
    [],
  );
});
