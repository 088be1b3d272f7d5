/** What a model runs on, wherever a command asks for it. */
import { z } from "zod";

/** `emulated` is the card of tests, whose kernels a package does not have. */
const names = ["cpu", "cuda", "emulated"];

const error = ({ input }: { readonly input?: unknown }): string => {
  const isNumbered = typeof input === "string" && input.startsWith("cuda:");
  const remedy = "; CUDA_VISIBLE_DEVICES, set before the process starts, says which card that is";
  return `expected cpu or cuda${isNumbered ? remedy : ""}`;
};

/** `cpu` or `cuda`. */
export const deviceName = z.string().refine((name) => names.includes(name), { error });
