/** Splitting as a job: the same bytes after any stop, and nothing half done under the final name. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  access,
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { PassageStore } from "../../../lib/search/corpus/passage-store.ts";
import { readDocuments } from "../../../lib/search/corpus/read-documents.ts";
import { splitCorpus } from "../../../lib/search/corpus/split-job.ts";
import { runCli } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-split-"));
after(() => rm(folder, { recursive: true }));

/** Some 6 MB in two files, flushed several times on the way. */
const input = join(folder, "corpus");
await mkdir(input);
const document = (i: number): string =>
  `${JSON.stringify({ title: `Title ${i}`, text: `passage ${i} é `.repeat(1 + (i % 400)) })}\n`;
for (const file of [0, 1])
  await writeFile(
    join(input, `${file}.jsonl`),
    Array.from({ length: 1000 }, (_, i) => document(1000 * file + i)).join(""),
  );

const options = { input, size: 50, ids: "running", flushBytes: 1 << 19 } as const;
const whole = join(folder, "whole.jsonl");
const result = await splitCorpus({ ...options, out: whole });
const wholeBytes = await readFile(whole);

/** Splits in a process of its own and kills it once the journal has been written `numFlushes` times. */
async function killed(out: string, numFlushes: number): Promise<void> {
  const job = pathToFileURL(join(projectRoot, "dist", "lib", "search", "corpus", "split-job.js")).href;
  const code = `import { splitCorpus } from "${job}"; await splitCorpus(${JSON.stringify({ ...options, out })});`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code]);
  const isOver = new Promise((resolve) => child.on("close", resolve));
  let seen = "";
  for (let count = 0; count < numFlushes && child.exitCode === null; ) {
    const journal = await readFile(`${out}.journal`, "utf8").catch(() => "");
    if (journal !== seen) count += 1;
    seen = journal;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  child.kill("SIGKILL");
  await isOver;
}

test("a split killed with SIGKILL and resumed ends with the same bytes and report", async () => {
  for (const numFlushes of [1, 4]) {
    const out = join(folder, `killed-${numFlushes}.jsonl`);
    await killed(out, numFlushes);
    await assert.rejects(access(out), "the file appears when it is whole");
    await appendFile(`${out}.partial`, '{"id":"a line cut by the ki');
    const { numDocuments, report } = await splitCorpus({ ...options, out, resume: true });
    assert.deepEqual([numDocuments, report], [result.numDocuments, result.report]);
    assert.ok((await readFile(out)).equals(wholeBytes));
    await assert.rejects(access(`${out}.journal`));
    await assert.rejects(access(`${out}.partial`));
  }
});

test("a split stopped by the signal goes on; with other options it is an ERR_STATE", async () => {
  const out = join(folder, "stopped.jsonl");
  const stop = new AbortController();
  const stopped = splitCorpus({
    ...options,
    out,
    signal: stop.signal,
    onProgress: ({ numDocuments }) => numDocuments > 1300 && stop.abort(),
  });
  await assert.rejects(stopped, { code: "ERR_ABORTED" });
  await assert.rejects(splitCorpus({ ...options, out, size: 51, resume: true }), {
    code: "ERR_STATE",
    message: /had other files or options/,
  });
  const size = (await readFile(`${out}.partial`)).length;
  const seen: number[] = [];
  const onProgress = ({ numPassages }: { readonly numPassages: number }): void => void seen.push(numPassages);
  await splitCorpus({ ...options, out, resume: true, onProgress });
  assert.ok((seen[0] ?? 0) > 0, "what was done is not done again");
  assert.ok((await readFile(out)).equals(wholeBytes));
  assert.ok(size > 0 && size < wholeBytes.length);
});

test("a file that another split writes is an ERR_STATE; a journal alone is nothing to go on from", async () => {
  const out = join(folder, "twice.jsonl");
  const first = splitCorpus({ ...options, out });
  const second = splitCorpus({ ...options, out });
  const [one, two] = await Promise.allSettled([first, second]);
  assert.deepEqual([one.status, two.status].sort(), ["fulfilled", "rejected"]);
  const { reason } = [one, two].find(({ status }) => status === "rejected") as PromiseRejectedResult;
  assert.equal(reason.code, "ERR_STATE");
  await writeFile(`${out}.journal`, '{"numBytes":1');
  await splitCorpus({ ...options, out, resume: true });
  assert.ok((await readFile(out)).equals(wholeBytes));
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith("twice.jsonl")),
    ["twice.jsonl"],
  );
});

test("a partial file shorter than its journal says is refused", async () => {
  const out = join(folder, "short.jsonl");
  await killed(out, 1);
  await truncate(`${out}.partial`, 100);
  await assert.rejects(splitCorpus({ ...options, out, resume: true }), {
    code: "ERR_FORMAT",
  });
});

test("resume without anything to go on from begins; a store holds what the lines hold", async () => {
  const out = join(folder, "passages.bin");
  await splitCorpus({ ...options, out, form: "store", resume: true });
  const store = await PassageStore.open(out);
  let number = 0;
  for await (const passage of readDocuments(whole)) {
    if (number % 997 === 0) assert.deepEqual(store.get(number), passage);
    number += 1;
  }
  assert.equal(store.size, number);
  store.close();
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith("passages.bin")),
    ["passages.bin"],
  );
});

test("the command splits, reports, and refuses tokens without a tokenizer", async () => {
  const out = join(folder, "cli.jsonl");
  const args = ["--input", join(projectRoot, "test", "golden", "corpus", "kilt.jsonl"), "--out", out];
  const { code, stdout } = await runCli("corpus", "split", ...args, "--max-words", "99", "--json");
  const { documents, report } = JSON.parse(stdout);
  assert.deepEqual([code, documents, report.numPassages, report.numOverLong], [0, 2, 5, 3]);
  const text = await runCli("corpus", "split", ...args);
  assert.match(
    text.stdout,
    /^2 documents in .*\npassages: 5, of 9\d\.\d words .*\nduplicates: 0\nempty: 0\nover 350 words: 0\n$/,
  );
  const wrong = await runCli("corpus", "split", ...args, "--by", "tokens");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^ERR_ARGUMENT: tokenizer: expected one/);
});
