/** PostgreSQL with pgvector inside of this process (PGlite), behind a real socket that speaks PostgreSQL's protocol. */

import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";

/** A database at an address. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

const sslRequest = 80877103;
/** A simple query: its type, its length, its text. */
const rollback = Buffer.from("510000000d726f6c6c6261636b00", "hex");
const readyForQuery = "Z".charCodeAt(0);

/** A message's length: the first one of a connection has no type byte. */
function messageLength(bytes: Buffer, isFirst: boolean): number | undefined {
  const start = isFirst ? 0 : 1;
  return bytes.length < start + 4 ? undefined : start + bytes.readInt32BE(start);
}

/** The database has one session: a client holds it from its first message until it is idle again. */
class Session {
  #database: Promise<PGlite> | undefined;
  #free: Promise<void> = Promise.resolve();

  /** Waits for the session; the returned function gives it back. */
  async take(): Promise<() => void> {
    const before = this.#free;
    let release = (): void => {};
    this.#free = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  }

  /** The database starts with the first message: seconds, most of them for unpacking WebAssembly. */
  async send(message: Uint8Array): Promise<Uint8Array> {
    this.#database ??= PGlite.create({ extensions: { vector } });
    return (await this.#database).execProtocolRaw(message);
  }

  async close(): Promise<void> {
    await (await this.#database)?.close();
  }
}

/** Whether an answer ends with "ready for query, outside of a transaction". */
function isIdle(answer: Uint8Array): boolean {
  const end = Buffer.from(answer.subarray(-6));
  return end.length === 6 && end[0] === readyForQuery && end.readInt32BE(1) === 5 && end[5] === 73;
}

class Client {
  readonly #socket: Socket;
  readonly #session: Session;
  #bytes: Buffer = Buffer.alloc(0);
  #isFirst = true;
  #release: (() => void) | undefined;

  constructor(socket: Socket, session: Session) {
    this.#socket = socket;
    this.#session = session;
  }

  async read(chunk: Buffer): Promise<void> {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (let message = this.#next(); message !== undefined; message = this.#next())
      await this.#handle(message);
  }

  async leave(): Promise<void> {
    if (this.#release === undefined) return;
    // Whoever leaves in the middle of a transaction has given it up.
    await this.#session.send(rollback);
    this.#release();
    this.#release = undefined;
  }

  #next(): Buffer | undefined {
    const length = messageLength(this.#bytes, this.#isFirst);
    if (length === undefined || this.#bytes.length < length) return undefined;
    const message = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return message;
  }

  async #handle(message: Buffer): Promise<void> {
    if (this.#isFirst && message.readInt32BE(4) === sslRequest) {
      this.#socket.write("N");
      return;
    }
    this.#isFirst = false;
    if (message[0] === "X".charCodeAt(0)) return;
    this.#release ??= await this.#session.take();
    const answer = await this.#session.send(message);
    if (!this.#socket.destroyed) this.#socket.write(answer);
    if (!isIdle(answer)) return;
    this.#release();
    this.#release = undefined;
  }
}

/** Opens the address. */
export async function startPglite(): Promise<TestDatabase> {
  const session = new Session();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const client = new Client(socket, session);
    let work = Promise.resolve();
    const then = (next: () => Promise<void>): void => {
      work = work.then(next).catch(() => void socket.destroy());
    };
    socket.on("data", (chunk) => then(() => client.read(chunk)));
    socket.on("close", () => then(() => client.leave()));
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://postgres:secret@127.0.0.1:${port}/postgres`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await session.close();
    },
  };
}
