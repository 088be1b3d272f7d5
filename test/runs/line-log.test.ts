/** Lines of a file that grows, is cut back and replaced while it is read. */
import assert from "node:assert/strict";
import { appendFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { LineLog } from "../../apps/runs/logs/line-log.ts";
import { withFolder } from "./logs.ts";

async function withLog(
  use: (log: LineLog, seen: { lines: string[]; offsets: number[]; resets: number }) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const seen = { lines: [] as string[], offsets: [] as number[], resets: 0 };
    const log = new LineLog(join(folder, "log.jsonl"), {
      onLine: (line, offset) => {
        seen.lines.push(line.toString());
        seen.offsets.push(offset);
      },
      onReset: () => {
        seen.lines.length = 0;
        seen.resets += 1;
      },
    });
    await use(log, seen);
  });
}

test("a file that is not there yet has no lines, and then has them", async () => {
  await withLog(async (log, seen) => {
    await log.refresh();
    await writeFile(log.path, "one\ntwo\n");
    await log.refresh();
    assert.deepEqual(seen, { lines: ["one", "two"], offsets: [0, 4], resets: 0 });
  });
});

test("a line that is half written waits for its end", async () => {
  await withLog(async (log, seen) => {
    await writeFile(log.path, "one\ntw");
    await log.refresh();
    assert.deepEqual(seen.lines, ["one"]);
    await appendFile(log.path, "o\nthree\n");
    await log.refresh();
    assert.deepEqual(seen, { lines: ["one", "two", "three"], offsets: [0, 4, 8], resets: 0 });
    assert.deepEqual([log.readBytes, log.totalBytes], [14, 14]);
  });
});

test("lines longer than what is read at once come whole, and can be read by their offset", async () => {
  await withLog(async (log, seen) => {
    const long = ["a", "é", "c"].map((letter, i) => letter.repeat(700_000 + i));
    await writeFile(log.path, `${long.join("\n")}\nshort\n`);
    await log.refresh();
    assert.deepEqual(seen.lines, [...long, "short"]);
    for (const [i, line] of seen.lines.entries()) {
      const bytes = await log.read(seen.offsets[i]!, Buffer.byteLength(line));
      assert.equal(bytes.toString(), line);
    }
  });
});

test("a file that was cut back is read anew, also where it has grown again meanwhile", async () => {
  await withLog(async (log, seen) => {
    await writeFile(log.path, "one\ntwo\nthree\n");
    await log.refresh();
    await truncate(log.path, 4);
    await log.refresh();
    assert.deepEqual([seen.lines, seen.resets], [["one"], 1]);
    await appendFile(log.path, "2\n3\n");
    await log.refresh();
    await truncate(log.path, 4);
    await appendFile(log.path, "second\nthird\nfourth\n");
    await log.refresh();
    assert.deepEqual([seen.lines, seen.resets], [["one", "second", "third", "fourth"], 2]);
  });
});

test("a file that took the place of another is read anew; one that went away has no lines", async () => {
  await withLog(async (log, seen) => {
    await writeFile(log.path, "one\ntwo\n");
    await log.refresh();
    await writeFile(`${log.path}.new`, "one\ntwo\nthree\n");
    await rename(`${log.path}.new`, log.path);
    await log.refresh();
    assert.deepEqual([seen.lines, seen.resets], [["one", "two", "three"], 1]);
    await rename(log.path, `${log.path}.gone`);
    await log.refresh();
    assert.deepEqual([seen.lines, seen.resets], [[], 2]);
  });
});

test("a resume that writes the same bytes again changes nothing", async () => {
  await withLog(async (log, seen) => {
    await writeFile(log.path, "one\ntwo\n");
    await log.refresh();
    await truncate(log.path, 4);
    await appendFile(log.path, "two\nthree\n");
    await log.refresh();
    assert.deepEqual([seen.lines, seen.resets], [["one", "two", "three"], 0]);
  });
});

test("calls side by side read each line once", async () => {
  await withLog(async (log, seen) => {
    await writeFile(log.path, "one\ntwo\n");
    await Promise.all([log.refresh(), log.refresh(), log.refresh()]);
    assert.deepEqual(seen.lines, ["one", "two"]);
  });
});
