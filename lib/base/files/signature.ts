/** Signs what this user's commands write, so that what others wrote in its place is told from it (HMAC, RFC 2104). */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { link, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { cacheFolder } from "../disk/cache-folder.ts";
import { refusedWrite } from "../disk/refused-write.ts";
import { codeOf, SeekError } from "../errors.ts";
import { findText } from "./regular-file.ts";

const secretBytes = 32;

/** Of this user; whoever has it can write what this user's commands trust. */
async function findSecret(path: string): Promise<string | undefined> {
  const secret = await findText(path);
  if (secret === undefined) return undefined;
  const { mode, uid } = await stat(path);
  const isOwn = uid === process.getuid?.() && (mode & 0o077) === 0;
  if (isOwn && secret.length === 2 * secretBytes) return secret;
  const what = `expected ${2 * secretBytes} characters that this user alone may read (mode 600)`;
  const remedy = "Remedy: remove it; runs signed with it are then asked about once";
  throw new SeekError("ERR_STATE", `${path}: ${what}. ${remedy}`);
}

/** Two processes may begin at once: a link is made whole, and only where none stands. */
async function makeSecret(path: string): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(draft, randomBytes(secretBytes).toString("hex"), { mode: 0o600, flag: "wx" });
    await link(draft, path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "EEXIST") throw cause;
    });
  } catch (cause) {
    throw refusedWrite(path, cause);
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

function hmac(secret: string, content: string): string {
  return createHmac("sha256", secret).update(content).digest("hex");
}

const secretPath = (): string => cacheFolder("secret");

/**
 * The signature of a text by this user, whose secret is made where there is none yet.
 *
 * @returns HMAC-SHA256, in hexadecimal
 * @throws ERR_IO where no secret can be kept; ERR_STATE where others may read it
 */
export async function sign(content: string): Promise<string> {
  const path = secretPath();
  if ((await findSecret(path)) === undefined) await makeSecret(path);
  return hmac((await findSecret(path)) ?? "", content);
}

/** As {@link sign}; undefined where no secret can be kept, as then it is somebody else's to every reader. */
export function signIfPossible(content: string): Promise<string | undefined> {
  return sign(content).catch((error: unknown) => {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  });
}

/** Whether this user signed a text so. @throws ERR_IO, ERR_STATE as {@link sign} */
export async function isSigned(content: string, signature: string): Promise<boolean> {
  const secret = await findSecret(secretPath());
  if (secret === undefined) return false;
  const [expected, given] = [hmac(secret, content), signature].map((each) => Buffer.from(each));
  return expected?.length === given?.length && timingSafeEqual(expected!, given!);
}
