/** A port of this machine that nobody listens on. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Below those that systems hand out by themselves (from 32,768 on under Linux, 49,152 on macOS and Windows): until the
 * caller listens there, no connection that another program opens can be given it.
 */
const [lowest, end] = [20_000, 32_768] as const;

/** A free port of 127.0.0.1, drawn at random so that two launches do not meet. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, end);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}
