/** Weights that one rank trains and others on GPUs, emulated, generate with (law 6). */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { requireBroadcast } from "../../../train/roles/received.ts";

const emulation = join(projectRoot, "build", "cmake", "Release", "libseekrl_emulated.so");
const skip = existsSync(emulation) ? false : "not built: SEEKRL_TESTS is off";

test("every rank gets the root's weights on its GPU, bit for bit, and its version", { skip }, () =>
  requireBroadcast("gpu", "bfloat16"),
);
