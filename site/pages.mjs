/** Which pages the site has, in which order a reader meets them, and where each stands. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const results = readdirSync(join(root, "bench", "results"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `bench/results/${name}`);

/** Sections of the sidebar; each page is a file of the project, under its own heading unless it is named here. */
export const sections = [
  {
    title: "Start",
    pages: [
      ["docs/start.md", "Run the demo"],
      ["README.md", "SeekRL on one page"],
      ["docs/demo.md"],
      ["docs/install.md"],
    ],
  },
  {
    title: "Tutorials",
    pages: [
      ["docs/tutorials/your-documents.md"],
      ["docs/your-own-agent.md"],
      ["docs/tutorials/node-service.md"],
      ["docs/systems/rag-r1.md"],
      ["docs/systems/search-r1.md"],
      ["docs/systems/research.md"],
      ["docs/systems/r1-searcher.md"],
      ["docs/systems/agentic-rag-r1.md"],
    ],
  },
  {
    title: "How to search",
    pages: [
      ["docs/corpus.md"],
      ["docs/retrieval.md"],
      ["docs/indexes.md"],
      ["docs/encoders.md"],
      ["docs/remote.md"],
      ["docs/serving.md"],
      ["docs/retrieval-scale.md", "Up to a billion passages"],
    ],
  },
  {
    title: "How to train",
    pages: [
      ["docs/data.md"],
      ["docs/training.md"],
      ["docs/evaluation.md"],
      ["docs/tools.md"],
      ["docs/lora.md"],
      ["docs/gpu.md"],
      ["docs/many-machines.md"],
      ["docs/remote-rollouts.md"],
      ["docs/lint.md"],
      ["docs/runs.md"],
      ["docs/studio.md"],
    ],
  },
  {
    title: "How to serve",
    pages: [
      ["docs/serving-models.md"],
      ["docs/agent-as-a-model.md"],
      ["docs/train-from-traffic.md"],
      ["docs/mcp.md"],
      ["docs/ai-sdk.md"],
      ["docs/in-other-programs.md"],
      ["docs/quantised.md"],
    ],
  },
  {
    title: "Concepts",
    pages: [
      ["docs/concepts/loop.md"],
      ["docs/concepts/each-token-once.md"],
      ["docs/concepts/laws.md"],
      ["docs/concepts/memory-stack.md"],
      ["docs/parallel-training.md"],
      ["docs/scaling.md"],
      ["ARCHITECTURE.md"],
    ],
  },
  {
    title: "Reference",
    pages: [
      ["docs/cli.md"],
      ["docs/files.md"],
      ["docs/recipes.md"],
      ["docs/models.md"],
      ["docs/sampling.md"],
    ],
  },
  {
    title: "Results",
    pages: [["docs/results.md", "Overview"], ...results.map((file) => [file])],
    isClosed: true,
  },
  {
    title: "The project",
    pages: [
      ["CHANGELOG.md"],
      ["CONTRIBUTING.md"],
      ["docs/packaging.md"],
      ["docs/dependencies.md"],
      ["docs/internals/parity.md"],
    ],
    isClosed: true,
  },
];

export const files = sections.flatMap(({ pages }) => pages.map(([file]) => file));

/** The path of a file on the site: docs/data.md is data.md there. */
export function addressOf(file) {
  if (file === "docs/start.md") return "index.md";
  return file.replace(/^(?:docs|bench)\//, "").toLowerCase();
}

/** Where a link of a file leads on the site; undefined: to nothing that the site has. */
export function resolveLink(file, href) {
  const [, path = "", anchor = ""] = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  if (path === "") return href;
  const target = posix.join(posix.dirname(file), path).replace(/\/$/, "");
  if (target === "bench/results") return "/results.md";
  return files.includes(target) ? `/${addressOf(target)}${anchor}` : undefined;
}

/** The heading that opens a page. */
export function headingOf(file) {
  const [, heading = file] = /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8")) ?? [];
  return heading.replaceAll("`", "");
}

/** The anchor of a heading, as GitHub makes it, so that one link leads there in a clone and on the site. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-");
}
