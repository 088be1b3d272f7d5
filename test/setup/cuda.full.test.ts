/** `seekrl setup cuda` against a server that plays the index: a whole download, and what is built against it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { importScript } from "../project.ts";
import { fakeIndex, torchFiles, unpackTo, wheelsOfCuda13 } from "./fake-torch.ts";
import { machine, scratch, setUp, skip } from "./machine.ts";

const { findLibtorch } = (await importScript("scripts/setup/libtorch.mjs")) as {
  findLibtorch(env: NodeJS.ProcessEnv): Promise<string>;
};

test("a CUDA torch is downloaded with the libraries it names, built against, and found from then on", {
  skip,
}, async () => {
  const { env, cache } = await machine();
  const index = await fakeIndex({ cu130: await wheelsOfCuda13(scratch) });
  try {
    const planned = await setUp({ env, index: index.url, dryRun: true });
    assert.match(planned.said, /GPU: NVIDIA H100 80GB HBM3, compute capability 9\.0, 79\.6 GiB/);
    assert.match(planned.said, /torch-2\.13\.0\+cu130\S+, [\d.]+ MB\n[\s\S]*nvidia_cublas-13\.1\.0\.3/);
    assert.ok((planned.found.bytes as number) > 10_000);
    assert.deepEqual([planned.built, existsSync(cache)], [[], false]);

    const first = await setUp({ env, index: index.url });
    const folder = join(cache, "libtorch-2.13.0-cu130", "torch");
    assert.deepEqual(first.built, [folder]);
    assert.deepEqual(first.found.checked, { tokens: 12 });
    assert.deepEqual(
      [first.found.torch, first.found.cuda, first.found.driver],
      ["2.13.0", "13.0", "580.82.07"],
    );
    // Neither Python's files nor what is left of the downloads.
    assert.deepEqual(await readdir(cache), ["libtorch-2.13.0-cu130"]);
    assert.ok(!existsSync(join(folder, "__init__.py")));
    assert.ok(!existsSync(join(cache, "libtorch-2.13.0-cu130", "nvidia", "cu13", "include")));

    // A CPU build beside it, whichever came first, does not hide it.
    await unpackTo(scratch, await torchFiles(scratch, { cuda: null }));
    await unpackTo(join(cache, "libtorch-2.13.0-cpu"), {});
    execFileSync("cp", ["-r", join(scratch, "torch"), join(cache, "libtorch-2.13.0-cpu")]);
    assert.equal(await findLibtorch(env), folder);
    const before = index.requests.length;
    assert.deepEqual((await setUp({ env, index: index.url })).built, [folder]);
    assert.equal(index.requests.length, before);

    // One that has lost a library is passed over aloud, and fetched again.
    await rm(join(cache, "libtorch-2.13.0-cu130", "nvidia", "cu13", "lib", "libcublasLt.so.913"));
    const again = await setUp({ env, index: index.url });
    assert.match(
      again.said,
      /passed over .*missing libcublasLt\.so\.913 \(needed by libcublas\.so\.913; in nvidia-cublas\)/,
    );
    assert.deepEqual(again.built, [folder]);
  } finally {
    index.close();
  }
});
