/** One writer a folder, whatever ends it. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { lockFolder } from "../../lib/base/files/folder-lock.ts";

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-lock-"));
});

after(() => rm(folder, { recursive: true }));

const url = new URL("../../lib/base/files/folder-lock.js", import.meta.url).href;

/** A process that takes the folder, says "held" or the code of its error, and stays. */
function holder(path: string): ChildProcess {
  const source = `
    const { lockFolder } = await import(${JSON.stringify(url)});
    const say = (text) => process.stdout.write(text);
    globalThis.lock = await lockFolder(${JSON.stringify(path)}).catch(({ code }) => void say(code));
    if (globalThis.lock) say("held");
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

const saidBy = async (child: ChildProcess): Promise<string> => String((await once(child.stdout!, "data"))[0]);

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

test("a second holder is told who holds the folder, where and since when", async () => {
  const path = join(folder, "new", "run");
  const lock = await lockFolder(path);
  const since = "20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ";
  await assert.rejects(lockFolder(path), {
    code: "ERR_STATE",
    message: new RegExp(`/lock: locked by process ${process.pid} on ${hostname()} since ${since}$`),
  });
  lock.close();
  lock.close();
  (await lockFolder(path)).close();
});

test("a killed holder leaves no lock, and of two that come at once one holds the folder", async () => {
  const path = join(folder, "rounds");
  for (let round = 0; round < 3; round++) {
    const children = [holder(path), holder(path)];
    const said = await Promise.all(children.map(saidBy));
    assert.deepEqual(said.sort(), ["ERR_STATE", "held"]);
    await Promise.all(children.map(kill));
  }
  (await lockFolder(path)).close();
});

test("a folder that cannot be made is refused", async () => {
  await assert.rejects(lockFolder(join(process.execPath, "run")), { code: "ERR_IO" });
});
