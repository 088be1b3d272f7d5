/** Which errors are of writing, and what is said of them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { isOfDisk, writeRefusal } from "../../lib/base/disk/refused-write.ts";
import { projectRoot } from "../project.ts";

/** As Node throws them. */
const systemError = (code: string, message: string, about: object): Error =>
  Object.assign(new Error(`${code}: ${message}`), { code, ...about });

const full = systemError("ENOSPC", "no space left on device, write", { syscall: "write" });
const unreadable = systemError("EACCES", "permission denied, open '/etc/shadow'", {
  ...{ syscall: "open", path: "/etc/shadow" },
});

test("a file that may not be read and a program that may not be started are no refusals of writing", () => {
  const { error: unstarted } = spawnSync(projectRoot);
  assert.match(`${unstarted}`, /spawnSync .* EACCES/);
  for (const error of [unreadable, unstarted]) assert.equal(writeRefusal(error, "runs"), undefined);
});

test("a folder that this user may not make is a refusal of writing", () => {
  const path = `${projectRoot}/none/cache`;
  const error = systemError("EACCES", `permission denied, mkdir '${path}'`, { syscall: "mkdir", path });
  assert.equal(
    writeRefusal(error)?.message,
    `${path}: cannot be made: this user may not write to ${projectRoot}. Remedy: have its owner allow it, or name a folder on another file system`,
  );
});

test("a full disk of which the error names no file is told without a folder and free bytes", () => {
  const { code, message } = writeRefusal(full) ?? {};
  assert.equal(code, "ERR_IO");
  assert.equal(
    message,
    "a file cannot be written: no space left on its file system. Remedy: make room there, or name a folder on another",
  );
});

test("a full disk whose folder the caller knows is told with it and its free bytes", () => {
  const { message = "" } = writeRefusal(full, projectRoot) ?? {};
  assert.ok(
    message.startsWith(`${projectRoot}: cannot be written: no space left for it on the file system of`),
  );
  assert.match(
    message,
    / \([\d.]+ [MG]B free\)\. Remedy: make room, or name a folder on another file system$/,
  );
});

test("of what a download meets, the disk's errors are told from those of the line", () => {
  assert.ok(isOfDisk(full));
  assert.ok(isOfDisk(systemError("ENOTDIR", "not a directory, open 'a/b'", { syscall: "open" })));
  for (const syscall of ["getaddrinfo", "connect"])
    for (const code of ["ENOENT", "EACCES"]) assert.ok(!isOfDisk(systemError(code, syscall, { syscall })));
  assert.ok(!isOfDisk(systemError("ECONNRESET", "read", { syscall: "read" })));
  assert.ok(!isOfDisk(new TypeError("terminated")));
});
