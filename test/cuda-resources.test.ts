/** What nvcc made of the kernels: registers enough that nothing is spilled to local memory. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "./project.ts";

const sources = join(projectRoot, "native", "kernels", "cuda");
const reports = join(projectRoot, "build", "cmake", "cuda");
const skip = !existsSync(reports) && "built without nvcc";

/** What ptxas said of each kernel of a source. */
function kernelsOf(source: string): { name: string; spilled: number; registers: number }[] {
  const report = readFileSync(join(reports, `${source.replaceAll("/", "_")}.o.txt`), "utf8");
  return report
    .split("Compiling entry function")
    .slice(1)
    .map((part) => ({
      name: /'(.*?)'/.exec(part)?.[1] ?? "",
      spilled: Number(/(\d+) bytes spill stores/.exec(part)?.[1]),
      registers: Number(/Used (\d+) registers/.exec(part)?.[1]),
    }));
}

test("no kernel for CUDA spills registers", { skip }, () => {
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".cu"),
  );
  const kernels = files.flatMap(kernelsOf);
  assert.ok(kernels.length >= files.length);
  assert.deepEqual(
    kernels.filter(({ spilled, registers }) => spilled !== 0 || !(registers <= 255)),
    [],
  );
});
