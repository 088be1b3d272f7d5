/** Queries to PostgreSQL: a pool, deadlines, cancelling, retries. */
import type pg from "pg";
import type { OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { lazyPackage } from "../../lib/base/on-first-use.ts";
import { Fault } from "../remote/fault.ts";
import { Guard, type TransportOptions, transportKind } from "../remote/guard.ts";

const driver = lazyPackage<typeof import("pg")>("pg");

/** Which database. */
export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database`. @default the environment variable DATABASE_URL, or PGHOST etc. */
  readonly connection?: string | undefined;
  /** `timeoutMs` is the server's statement_timeout, `maxConcurrent` the size of the pool (@default 4). */
  readonly transport?: TransportOptions | undefined;
}

/** What every user of a database takes. */
export const postgresKinds: OptionKinds<PostgresOptions> = { connection: "string", transport: transportKind };

/** A statement with its parameters. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/**
 * SQLSTATE classes that pass: connections, resources, shutting down, serialization.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const passing = /^(08|53|57P0|40)/;

/** A statement may be given a day; a server that is there answers sooner. */
const maxConnectMs = 30_000;

/** A pool of connections to one database. */
export class Postgres {
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #guard: Guard;

  constructor({ connection = process.env.DATABASE_URL, transport = {} }: PostgresOptions) {
    const { maxConcurrent = 4, timeoutMs = 10_000 } = transport;
    const connectionTimeoutMillis = Math.min(timeoutMs, maxConnectMs);
    const timeouts = { connectionTimeoutMillis, statement_timeout: timeoutMs };
    this.#config = { connectionString: connection, ...timeouts };
    this.#guard = new Guard(shownDatabase(connection), { ...transport, maxConcurrent });
    this.#pool = new (driver().Pool)({ ...this.#config, max: maxConcurrent, allowExitOnIdle: true });
    // A broken connection fails its statement and is replaced; without listeners the process would end.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => client.on("error", () => {}));
  }

  /** What stands at the beginning of error messages: the server, without user and password. */
  get name(): string {
    return this.#guard.name;
  }

  /** Statements that may run at once. */
  get maxConcurrent(): number {
    return this.#guard.options.maxConcurrent;
  }

  /**
   * Runs statements, in one transaction when there are several; again when the connection broke.
   *
   * @returns the rows of the last one
   * @throws ERR_REMOTE with the server's message, ERR_ABORTED when the signal fires; the server then stops too
   */
  run<Row>(statements: readonly Statement[], signal?: AbortSignal): Promise<Row[]> {
    return this.#guard.run((stop) => this.#once<Row>(statements, stop), signal);
  }

  /** Closes the connections once their statements have ended. */
  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #once<Row>(statements: readonly Statement[], signal: AbortSignal): Promise<Row[]> {
    const client = await this.#pool.connect().catch((cause) => this.#fail(cause));
    const cancel = (): void => void this.#cancel(client);
    signal.addEventListener("abort", cancel, { once: true });
    let isBroken = false;
    try {
      return await transact<Row>(client, statements);
    } catch (cause) {
      isBroken = true;
      return this.#fail(cause);
    } finally {
      signal.removeEventListener("abort", cancel);
      // After an error the transaction's state is unknown: the connection is closed instead of used again.
      client.release(isBroken);
    }
  }

  async #cancel(client: pg.PoolClient): Promise<void> {
    const { processID } = client as unknown as { readonly processID?: number };
    const other = new (driver().Client)(this.#config);
    try {
      await other.connect();
      await other.query("select pg_cancel_backend($1)", [processID]);
    } catch {
      // The statement then ends at its statement_timeout; whoever asked has left already.
    } finally {
      await other.end().catch(() => {});
    }
  }

  #fail(cause: unknown): never {
    const { code = "", message } = cause as { code?: string; message: string };
    // Without a SQLSTATE it is the network or the pool.
    const isNetwork = !/^[0-9A-Z]{5}$/.test(code);
    const isTimeout = code === "57014";
    throw new Fault(`${this.name}: ${message || code}`, {
      cause,
      mayRetry: isNetwork || passing.test(code),
      isRefusal: !isNetwork && !isTimeout && !passing.test(code),
    });
  }
}

async function transact<Row>(client: pg.PoolClient, statements: readonly Statement[]): Promise<Row[]> {
  const ask = async ({ text, values = [] }: Statement): Promise<Row[]> =>
    (await client.query(text, [...values])).rows as Row[];
  if (statements.length === 1) return ask(statements[0] as Statement);
  let rows: Row[] = [];
  await client.query("begin");
  for (const statement of statements) rows = await ask(statement);
  await client.query("commit");
  return rows;
}

function shownDatabase(connection: string | undefined): string {
  if (connection === undefined) return `postgresql://${process.env.PGHOST ?? "localhost"}`;
  if (!URL.canParse(connection)) {
    throw new SeekError("ERR_ARGUMENT", "connection: expected postgresql://user:password@host:port/database");
  }
  const { host, pathname } = new URL(connection);
  return `postgresql://${host}${pathname}`;
}
