/** What a training takes in memory, told before a weight is read; one that has no room on its GPU is refused. */
import { join } from "node:path";
import { bytesText } from "../../../../lib/base/disk/free-space.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import type { LoraOptions } from "../../../../lib/model/form/lora-options.ts";
import type { ModelForm } from "../../../../lib/model/form/model-form.ts";
import type { MemoryPlan, TrainingSizes } from "../../../../lib/train/memory/plan.ts";
import type { CommandIo } from "../../command.ts";
import { type PolicyFolders, refuseQuantised } from "../../open/local-policy.ts";
import { memoryLine, modelLines } from "../../report/training-report.ts";

/** What is trained, where. */
interface TrainedChoice extends PolicyFolders {
  readonly device: string;
  readonly contextTokens?: number | undefined;
  readonly lora?: LoraOptions | undefined;
}

/** What is trained, and how: all of its memory but the model's shape and form. */
type MemoryChoice = TrainedChoice &
  Omit<TrainingSizes, keyof ModelForm | "adapterParameters" | "freeBytes" | "dtype" | "weights">;

/** A model's form, and what its training takes. */
interface ToldMemory {
  readonly form: ModelForm;
  readonly memory: MemoryPlan;
}

/** Numbers of the adapter that is trained; undefined where the weights are. */
async function adapterNumbers(
  { lora, adapter }: TrainedChoice,
  { config }: ModelForm,
): Promise<number | undefined> {
  if (adapter !== undefined) {
    const { adapterFile } = await import("../../../../lib/model/peft-config.ts");
    const { readSafetensorsHeader } = await import("../../../../lib/model/safetensors.ts");
    const tensors = await readSafetensorsHeader(join(adapter, adapterFile));
    return tensors.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
  }
  if (lora === undefined) return undefined;
  const { adapterParameters } = await import("../../../../lib/model/form/adapter-size.ts");
  return adapterParameters(config, lora);
}

async function freeBytesOf(device: string): Promise<number | undefined> {
  const { isGpu } = await import("../../../../lib/train/memory/activations.ts");
  if (!isGpu(device)) return undefined;
  const { native } = await import("../../../../lib/base/addon/native.ts");
  return (await native().gpuMemory(device)).free;
}

/**
 * Tells what is trained and what that takes.
 *
 * @param choice - model, adapter, device, and how it is trained
 * @param io - told
 * @returns the model's form, and the memory by part
 * @throws UsageError for weights that no step may change; ERR_MEMORY, with what would fit, where a GPU has no room
 */
export async function tellMemory(choice: MemoryChoice, io: Pick<CommandIo, "log">): Promise<ToldMemory> {
  const [{ readForm }, { numParameters, trainingMemory }] = await Promise.all([
    import("../../../../lib/model/form/model-form.ts"),
    import("../../../../lib/train/memory/plan.ts"),
  ]);
  const { model, device } = choice;
  const form = await readForm(model, choice);
  const { config, dtype, weights } = form;
  const adapterParameters = await adapterNumbers(choice, form);
  refuseQuantised({ isAdapter: adapterParameters !== undefined, weights }, model);
  const freeBytes = await freeBytesOf(device);
  const sizes: TrainingSizes = { ...choice, config, dtype, weights, adapterParameters, freeBytes };
  const memory = trainingMemory(sizes);
  const parameters = numParameters(config);
  for (const line of modelLines({ model, parameters, dtype, weights, device, adapterParameters }))
    io.log(line);
  io.log(memoryLine(memory, freeBytes));
  if (freeBytes !== undefined && memory.total > freeBytes) throw await noRoom(sizes, freeBytes, memory.total);
  return { form, memory };
}

/** What is said of a training that has no room. */
async function noRoom(sizes: TrainingSizes, freeBytes: number, total: number): Promise<SeekError> {
  const { remediesOf } = await import("../../../../lib/train/memory/remedies.ts");
  const found = remediesOf({ ...sizes, freeBytes });
  const remedies = found.map(({ change, bytes }) => `${change} (${bytesText(bytes)})`).join(", or ");
  const remedy = remedies === "" ? "a smaller model, or more GPUs: seekrl plan says how many" : remedies;
  return new SeekError(
    "ERR_MEMORY",
    `${sizes.device}: this training takes ${bytesText(total)}, ${bytesText(freeBytes)} are free. Remedy: ${remedy}.`,
  );
}
