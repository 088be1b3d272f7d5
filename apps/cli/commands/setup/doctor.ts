/** `seekrl doctor`: what this machine has to run models on, and whether it does. */
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { command } from "../../command.ts";
import { deviceName } from "../../fields.ts";
import { hardwareLines } from "../../machine/hardware.ts";
import {
  findMachine,
  gpuProblem,
  kernelsFor,
  type Machine,
  processorProblem,
} from "../../machine/machine.ts";

const archText = (code: number): string => `sm_${code}`;

function kernelLine({ kernels }: Machine): string {
  if (kernels === undefined) return "none";
  const ptx = kernels.ptx.map((each) => `PTX of ${archText(each)}`);
  return `${[...kernels.code.map(archText), ...ptx].join(", ")} (${kernels.file})`;
}

function libtorchLine({ libtorch }: Machine): string {
  if (libtorch === undefined) return "none";
  const kind = libtorch.cuda === undefined ? "CPU build" : `CUDA ${libtorch.cuda}`;
  return `${libtorch.version ?? "of an unknown version"}, ${kind} (${libtorch.folder})`;
}

function gpuLines({ driver, kernels }: Machine): string[] {
  const by = { code: "its own code", ptx: "PTX, compiled at first use" };
  return driver.gpus.map((gpu, i) => {
    const way = kernels && kernelsFor(gpu, kernels);
    const runs = way === undefined ? "no kernels for it" : `kernels: ${by[way]}`;
    const memory = gpu.gib === undefined ? "" : `, ${gpu.gib.toFixed(1)} GiB`;
    return `GPU ${i}    ${gpu.name}, compute capability ${gpu.capability}${memory}, ${runs}`;
  });
}

function describe(machine: Machine): string {
  const { driver, nvcc } = machine;
  const lines = [
    `node      ${machine.node}, ${machine.platform}`,
    ...hardwareLines(machine.hardware),
    `driver    ${driver.version ?? "none"}${driver.problem === undefined ? "" : ` (${driver.problem})`}`,
    ...gpuLines(machine),
    ...machine.packages.map((name) => `package   ${name}, every file as it was packed`),
    `libtorch  ${libtorchLine(machine)}`,
    `nvcc      ${nvcc === undefined ? "none" : `${nvcc.version} (${nvcc.path})`}`,
    `kernels   ${kernelLine(machine)}`,
    `graphs    ${machine.graphs ?? "none: each kernel of a step on a GPU is launched by itself"}`,
    `cpu       ${processorProblem(machine) ?? "runs"}`,
    `cuda      ${gpuProblem(machine) ?? "runs"}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** The command. */
export const doctorCommand = command({
  name: "doctor",
  summary: "says what this machine can run models on",
  options: z.strictObject({
    device: deviceName
      .optional()
      .describe("a tiny model generates, scores and trains on it: cpu or cuda (default: cpu, where it runs)"),
  }),
  run: async ({ device }, io) => {
    const machine = await findMachine();
    io.write(describe(machine));
    const problems: Record<string, string | undefined> = {
      cpu: processorProblem(machine),
      cuda: gpuProblem(machine),
    };
    const runs = { cpu: problems["cpu"] ?? true, cuda: problems["cuda"] ?? true };
    if (device === undefined && problems["cpu"] !== undefined) {
      io.result({ ...machine, runs });
      // The line above says it all; scripts look at the exit code.
      throw new SeekError("ERR_DEVICE", "");
    }
    const problem = problems[device ?? "cpu"];
    if (problem !== undefined) throw new SeekError("ERR_DEVICE", `${device}: ${problem}`);
    const { checkDevice } = await import("../../machine/check-device.ts");
    const checked = await checkDevice(device ?? "cpu");
    io.write(
      `${checked.device}: ${checked.tokens} tokens generated, scored with the same bits, and trained on\n`,
    );
    if (checked.graphRefusal !== undefined)
      io.write(`${checked.device}: no step is one launch: ${checked.graphRefusal}\n`);
    io.result({ ...machine, runs, checked });
  },
});
