/** Documents from every known form, and what is said of files that hold something else. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { Document } from "../../../lib/search/corpus/document.ts";
import { writePassageStore } from "../../../lib/search/corpus/passage-store.ts";
import { type ReadProgress, readDocuments } from "../../../lib/search/corpus/read-documents.ts";
import { projectRoot } from "../../project.ts";

type ParquetColumns = Parameters<typeof parquetWriteBuffer>[0]["columnData"];

const folder = await mkdtemp(join(tmpdir(), "seekrl-documents-"));
after(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  await mkdir(join(folder, name, ".."), { recursive: true });
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

async function all(path: string): Promise<Document[]> {
  const list: Document[] = [];
  for await (const document of readDocuments(path)) list.push(document);
  return list;
}

const ada = { id: "7", title: "Ada", text: "wrote\tprograms" };
const bob = { id: "x", title: "", text: "line\u2028separator 😀" };

test("JSON Lines hold id, title and text, or both in contents; a mark, CRLF and empty lines are passed over", async () => {
  const lines = [
    '\ufeff{"id":7,"title":"Ada","text":"wrote\\tprograms"}\r',
    "",
    '{"contents":"\\"Ada\\"\\nwrote"}\r',
    '{"_id":"x","title":null,"text":"line\u2028separator 😀"}',
  ];
  const expected = [ada, { id: "1", title: "Ada", text: "wrote" }, bob];
  assert.deepEqual(await all(await file("a.jsonl", lines.join("\n"))), expected);
  assert.deepEqual(await all(await file("a.data", gzipSync(lines.join("\n")))), expected);
});

test("KILT's knowledge source gives its paragraphs joined, without the marks of headings and lists", async () => {
  const row = {
    _id: "12",
    wikipedia_id: "12",
    wikipedia_title: "Anarchism",
    text: ["Anarchism\n", "Section::::History.\n", "BULLET::::- one\n"],
  };
  assert.deepEqual(await all(await file("kilt.jsonl", JSON.stringify(row))), [
    { id: "12", title: "Anarchism", text: "Anarchism\nHistory.\n- one\n" },
  ]);
});

test("KILT's file is read line by line although its name ends in .json and its lines are long", async () => {
  const page = (i: number): string =>
    JSON.stringify({
      wikipedia_id: `${i}`,
      history: "x".repeat(3_000_000),
      wikipedia_title: "T",
      text: [`${i}`],
    });
  assert.deepEqual(await all(await file("kilt_knowledgesource.json", `${page(0)}\n${page(1)}\n`)), [
    { id: "0", title: "T", text: "0" },
    { id: "1", title: "T", text: "1" },
  ]);
});

test("one JSON list, or an object from titles to texts, is read element by element", async () => {
  const list = [ada, { title: 'brackets ]}[{," in \\ strings', text: ["a ", "b"] }, bob];
  const expected = [ada, { id: "1", title: list[1]?.title, text: "a b" }, bob];
  for (const indent of [0, 2]) {
    const json = JSON.stringify(list, undefined, indent);
    assert.deepEqual(await all(await file("list.json", `\ufeff ${json}\n`)), expected);
  }
  const map = JSON.stringify({ Ada: "wrote", Bob: ["was ", "there"] }, undefined, 1);
  assert.deepEqual(await all(await file("map.json", map)), [
    { id: "0", title: "Ada", text: "wrote" },
    { id: "1", title: "Bob", text: "was there" },
  ]);
  assert.deepEqual(await all(await file("none.json", " [ ] ")), []);
});

test("a list longer than a piece of the file is whole", async () => {
  const list = Array.from({ length: 3000 }, (_, i) => ({
    id: `${i}`,
    title: "é",
    text: '\\"['.repeat(i % 500),
  }));
  assert.deepEqual(await all(await file("long.json", JSON.stringify(list))), list);
});

test("TSV has DPR's header and quotes, or is RAG-R1's split without either", async () => {
  const dpr = 'id\ttext\ttitle\r\n1\t"He said ""no"" twice"\tAda "x" B\r\n2\t"a" and "b"\tBob\r\n';
  assert.deepEqual(await all(await file("psgs.tsv", dpr)), [
    { id: "1", title: 'Ada "x" B', text: 'He said "no" twice' },
    { id: "2", title: "Bob", text: '"a" and "b"' },
  ]);
  const split = '0\t"Heroes"   "Heroes" is an album\n1\t"Heroes"   by David Bowie\n';
  assert.deepEqual(await all(await file("wiki.tsv.gz", gzipSync(split))), [
    { id: "0", title: '"Heroes"', text: '"Heroes" is an album' },
    { id: "1", title: '"Heroes"', text: "by David Bowie" },
  ]);
});

test("parquet written by pyarrow is read, numbers as ids and lists of paragraphs included", async () => {
  const documents = await all(join(projectRoot, "test", "golden", "corpus", "documents.parquet"));
  assert.deepEqual(
    documents,
    Array.from({ length: 7 }, (_, i) => ({
      id: `${i}`,
      title: i === 3 ? "" : `Title ${i} é`,
      text: `Paragraph one of ${i}.\nParagraph two of ${i}.`,
    })),
  );
});

test("parquet of many row groups is read in order, and bytes that are no UTF-8 are refused", async () => {
  const texts = Array.from({ length: 2500 }, (_, i) => `text ${i}`);
  const columns = (data: (string | Uint8Array)[]): ParquetColumns => [
    { name: "contents", data, type: "BYTE_ARRAY" },
  ];
  const many = parquetWriteBuffer({
    columnData: columns(texts.map((text) => `"T"\n${text}`)),
    rowGroupSize: 400,
  });
  const documents = await all(await file("many.parquet", new Uint8Array(many)));
  assert.deepEqual(
    documents,
    texts.map((text, i) => ({ id: `${i}`, title: "T", text })),
  );
  const wrong = parquetWriteBuffer({ columnData: columns([Uint8Array.of(0x61, 0xff)]) });
  await assert.rejects(all(await file("bytes.parquet", new Uint8Array(wrong))), { code: "ERR_FORMAT" });
});

test("a passage store is read as its passages", async () => {
  const passages = Array.from({ length: 3000 }, (_, i) => ({ id: `p${i}`, title: "T", text: `text ${i}` }));
  const path = join(folder, "passages.bin");
  await writePassageStore(path, passages);
  assert.deepEqual(await all(path), passages);
});

test("a folder is its files by name, those in folders inside included, documents without id numbered through", async () => {
  await file("set/b/1.txt", "plain");
  await file("set/a.jsonl", '{"text":"first"}\n{"text":"second"}');
  await file("set/c.json", '[{"text":"last"}]');
  await file("set/.hidden", "not read");
  assert.deepEqual(await all(join(folder, "set")), [
    { id: "0", title: "", text: "first" },
    { id: "1", title: "", text: "second" },
    { id: "b/1.txt", title: "1", text: "plain" },
    { id: "3", title: "", text: "last" },
  ]);
});

test("what is wrong is an ERR_FORMAT with file and line", async () => {
  const wrong: [string, string | Uint8Array, RegExp][] = [
    [
      "row.jsonl",
      '{"text":"a"}\n{"body":"b"}',
      /row\.jsonl:2: expected column "text" or "contents", got columns body$/,
    ],
    ["broken.jsonl", '{"text":"a"}\n\n{"text":', /broken\.jsonl:3: expected JSON/],
    ["kind.jsonl", '{"text":5}', /kind\.jsonl:1: expected column "text": text, got number/],
    ["id.jsonl", '{"id":[],"text":"a"}', /id\.jsonl:1: expected column "id": text or a number, got object/],
    ["half.jsonl", '{"text":"\\ud800"}', /half\.jsonl:1: expected column "text": Unicode/],
    ["bytes.jsonl", Buffer.from('{"text":"a"}\n{"text":"\xff"}', "latin1"), /bytes\.jsonl:2: expected UTF-8/],
    ["bytes.json", Buffer.from('["a","\xff"]', "latin1"), /bytes\.json\[1\]: expected UTF-8/],
    ["cut.json", '[{"text":"a"},{"te', /cut\.json: .* ends early/],
    ["more.json", '[{"text":"a"}] []', /more\.json: .* more behind it/],
    ["comma.json", '[{"text":"a"},]', /comma\.json: .* a comma without an element/],
    ["mixed.json", '[{"text":"a"}}', /mixed\.json: .* another bracket/],
    ["row.tsv", "id\ttext\ttitle\n1\ta", /row\.tsv:2: expected 3 columns \(id, text, title\), got 2/],
    ["split.tsv", "0\tA   b\n1\tA b", /split\.tsv:2: expected "number, tab, title, three spaces, text"/],
    ["what.bin", "hello world", /what\.bin: expected JSON Lines.*begins with "hello world"/],
    ["cut.gz", gzipSync('{"text":"a"}').subarray(0, 20), /cut\.gz: the gzip data is damaged/],
    ["cut.parquet", "PAR1abc", /cut\.parquet: not a readable parquet file/],
    ["bytes.txt", Buffer.from([0xff]), /bytes\.txt: expected UTF-8/],
  ];
  for (const [name, content, message] of wrong)
    await assert.rejects(all(await file(name, content)), { code: "ERR_FORMAT", message }, name);
  await mkdir(join(folder, "empty"));
  await assert.rejects(all(join(folder, "empty")), { code: "ERR_FORMAT", message: /got none/ });
  await assert.rejects(all(join(folder, "nowhere")), { code: "ERR_IO", message: /nowhere: cannot be read/ });
});

test("progress ends at all bytes of all files; the signal ends the reading", async () => {
  const line = `${JSON.stringify({ text: "word ".repeat(200) })}\n`;
  await file("big/1.jsonl", line.repeat(3000));
  await file("big/2.jsonl.gz", gzipSync(line.repeat(3000)));
  const seen: ReadProgress[] = [];
  let count = 0;
  for await (const _ of readDocuments(join(folder, "big"), { onProgress: (progress) => seen.push(progress) }))
    count += 1;
  assert.equal(count, 6000);
  assert.ok(seen.length > 3);
  assert.equal(seen.at(-1)?.numBytes, seen.at(-1)?.totalBytes);
  assert.ok(seen.every(({ numBytes }, i) => i === 0 || numBytes >= (seen[i - 1]?.numBytes ?? 0)));
  const stop = new AbortController();
  const reading = async (): Promise<void> => {
    for await (const _ of readDocuments(join(folder, "big"), { signal: stop.signal })) stop.abort();
  };
  await assert.rejects(reading(), { code: "ERR_ABORTED" });
});
