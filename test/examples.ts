/** Runs pieces of documentation: TypeScript in, with a small world of models and files around it. */
import assert from "node:assert/strict";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import ts from "typescript";
import { z } from "zod";
import { HashedEmbedder } from "../lib/search/embed/hashed-embedder.ts";
import { VectorIndex } from "../lib/search/vector-index.ts";
import { bytesAsGguf, writeTinyModel } from "./cli/tiny-folder.ts";
import { retrieveReply, startFaultServer } from "./connectors/remote/fault-server.ts";
import { elasticsearchReply, qdrantReply } from "./connectors/stores/doubles.ts";
import { startPglite } from "./connectors/stores/pglite-server.ts";
import { article, html, startSite } from "./connectors/web/site.ts";
import { writeGguf } from "./model/gguf/fixture.ts";
import { projectRoot } from "./project.ts";
import type { everything } from "./public.ts";

const passages = [
  { id: "1", title: "Paris", text: "Paris is the capital of France." },
  { id: "2", title: "Prodigal Son", text: "Jesus told the story of the prodigal son." },
];
const questions = [{ id: "a", question: "capital of France?", answers: ["Paris"] }];

function jsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Writes the folders and files that examples name, and returns the values they take for granted. */
export async function prepareExamples(
  folder: string,
  lib: typeof everything,
): Promise<Record<string, unknown>> {
  await writeTinyModel(join(folder, "models", "qwen2.5-0.5b"));
  const embedders = join(projectRoot, "test", "golden", "embed");
  await cp(join(embedders, "bert-cls"), join(folder, "models", "bge-small-en-v1.5"), { recursive: true });
  await cp(join(embedders, "bert-rank"), join(folder, "models", "bge-reranker-base"), { recursive: true });
  await writeFile(join(folder, "passages.jsonl"), jsonLines(passages));
  await writeFile(join(folder, "questions.jsonl"), jsonLines(questions));
  await mkdir(join(folder, "runs"), { recursive: true });
  await symlink(join(projectRoot, "world"), join(folder, "world"));
  await mkdir(join(folder, "documents"));
  await writeFile(join(folder, "documents", "lamp.txt"), "The keeper buys oil. He lights the lamp.");
  await lib.buildIndex({ corpus: passages, out: join(folder, "index") });
  const model = await lib.Model.load(join(folder, "models", "qwen2.5-0.5b"));
  const tokenizer = await lib.Tokenizer.load(join(folder, "models", "qwen2.5-0.5b"));
  const engine = await lib.Engine.open(model, { tokenizer });
  const search = await lib.openIndex(join(folder, "index"));
  const recipe = lib.ragR1({ queries: "multi" });
  const limits = { ...recipe.limits, maxTurns: 2, maxResponseTokens: 8 };
  const agent = lib.searchAgent({ engine, tokenizer, search, ...recipe, limits });
  const question = questions[0]!;
  const trajectory = await agent(question);
  const [retriever, database] = [await startFaultServer(retrieveReply), await startPglite()];
  const elasticsearch = await startFaultServer(elasticsearchReply());
  const qdrant = await startFaultServer(qdrantReply());
  const site = await startSite({ "/paris": html(article("Paris", "Paris is the capital of France.")) });
  const index = VectorIndex.create("hnsw", { dim: 4, capacity: 16 });
  await index.add(Float32Array.from({ length: 64 }, (_, i) => Math.sin(i * i)));
  const embedder = await HashedEmbedder.fit(["Paris France", "prodigal son"], { dim: 64 });
  const tokens = Int32Array.of(65, 66, 67, 68);
  const [rows, weights] = [Int32Array.of(1, 2), Float32Array.of(0.5, 0.5)];
  const sequences = [{ tokens, rows, weights }];
  const gguf = join(folder, "models", "qwen2.5-0.5b-instruct-q8_0.gguf");
  await writeGguf(gguf, model, { type: "F32", tokenizer: bytesAsGguf });
  const trainer = await lib.Trainer.open(await model.clone());
  const copy = await model.clone();
  const served = await lib.Engine.open(copy, { tokenizer });
  const models = lib.languageModels({ name: "copy", engine: served, tokenizer });
  const worker = await lib.serveModels({ models, port: 0, acceptWeights: true });
  const values = {
    model,
    config: model.config,
    policy: model,
    tokenizer,
    engine,
    search,
    agent,
    questions,
    question,
    trajectory,
  };
  const chatTemplate = new lib.ChatTemplate("{% for message in messages %}{{ message.content }}{% endfor %}");
  const { format, sampling, reward } = recipe;
  const own = {
    chatTemplate,
    recipe: { ...recipe, limits },
    format,
    limits,
    sampling,
    reward,
    myAgent: agent,
    schema: z.object({ answer: z.string() }),
  };
  const sequence = engine.open(tokenizer.encode("The answer:"));
  const training = { trainer, tokens, rows, weights, sequences, stream: [tokens] };
  return {
    assert,
    readFile,
    z,
    ...{ generateText, streamText, OpenAI },
    console: { log: () => {} },
    process: { env: {}, stdout: { write: () => {} } },
    ...values,
    ...training,
    ...own,
    sequence,
    ...{ embedder, index, servers: [worker, served, copy, retriever, database, elasticsearch, qdrant, site] },
    workerUrl: worker.url,
    retrieverUrl: retriever.url,
    databaseUrl: database.url,
    elasticsearchUrl: elasticsearch.url,
    qdrantUrl: qdrant.url,
    pageUrl: `${site.url}/paris`,
    mcpPlace: {
      command: process.execPath,
      args: [join(projectRoot, "dist", "test", "connectors", "tools", "mcp-server.js")],
    },
  };
}

/** Closes what `prepareExamples` opened. */
export async function closeExamples(scope: Readonly<Record<string, unknown>>): Promise<void> {
  const { engine, trainer, model, search, embedder, index } = scope as Record<string, { close(): unknown }>;
  await engine?.close();
  for (const server of scope.servers as AsyncDisposable[]) await server[Symbol.asyncDispose]();
  for (const part of [trainer, search, model, embedder, index]) part?.close();
}

/** The code of every `@example` of a source file. */
export function examplesOf(source: string): string[] {
  return [...source.matchAll(/\* @example\n((?:\s+\*(?! @)(?!\/).*\n)+)/g)].map(([, block = ""]) =>
    block.replace(/^\s*\* ?/gm, ""),
  );
}

/** Runs TypeScript as the body of an async function in which `scope` is known. */
export async function runExample(code: string, scope: Readonly<Record<string, unknown>>): Promise<void> {
  const options = { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } };
  // A function of its own, so that an example may declare a name that the scope has too.
  const { outputText } = ts.transpileModule(`const run = async () => {\n${code}\n};`, options);
  const names = Object.keys(scope);
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction(...names, `${outputText}\nawait run();`)(...names.map((name) => scope[name]));
}
