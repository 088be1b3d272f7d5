/** What peers are made of: pinned packages of Python and npm, by the names that pairs ask for. */

const hasCpuBuilds = process.platform !== "darwin";
const numpy = "numpy==2.4.6";

/** Where PyPI's torch is one for CUDA, the one for the processor alone has an index of its own. */
const torchIndex = "https://download.pytorch.org/whl/cpu";

/** The package with llama.cpp's binaries for this platform; those for GPUs are not needed. */
const llamaBinaries = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "darwin-arm64": "mac-arm64-metal",
  "darwin-x64": "mac-x64",
  "win32-x64": "win-x64",
}[`${process.platform}-${process.arch}`];

/** Of each: packages of pip, or of npm; `after` are needs that must be there first. */
export const needs = {
  torch: {
    pip: [`torch==2.13.0${hasCpuBuilds ? "+cpu" : ""}`, numpy],
    fallbackIndex: torchIndex,
  },
  transformers: { pip: ["transformers==5.18.0", "peft==0.21.0"], after: ["torch"] },
  "sentence-transformers": { pip: ["sentence-transformers==6.0.1"], after: ["transformers"] },
  onnx: { pip: ["onnx==1.23.1"], after: ["torch"] },
  faiss: { pip: ["faiss-cpu==1.15.1", numpy] },
  bm25s: { pip: ["bm25s==0.3.11", "numba==0.68.0", numpy] },
  python: { pip: [] },
  "node-llama-cpp": {
    npm: {
      "node-llama-cpp": "3.22.1",
      ...(llamaBinaries && { [`@node-llama-cpp/${llamaBinaries}`]: "3.22.1" }),
    },
    // Its optional packages are binaries for GPUs, of some hundred megabytes each.
    npmOptions: ["--omit=optional"],
  },
  "transformers.js": { npm: { "@huggingface/transformers": "4.3.1" } },
  usearch: { ours: "usearch" },
};

/** Every need of some, those that must be there first before them. */
export function withRequired(names) {
  const ordered = new Set();
  const add = (name) => {
    for (const first of needs[name].after ?? []) add(first);
    ordered.add(name);
  };
  for (const name of names) add(name);
  return [...ordered];
}
