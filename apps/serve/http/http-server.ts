/** A server of a few routes over JSON: access, errors as JSON, and an end within a grace period. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { checkOptions, type OptionKinds } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { type AccessOptions, checkAccess, checkCaller, defaultHost } from "./access/access.ts";
import { answerCors } from "./access/cors.ts";
import { Call } from "./call.ts";
import { matchPath, type PathParams } from "./paths.ts";
import { type Dialect, Refusal } from "./refusal.ts";
import { type SocketHandler, Upgrades } from "./socket/upgrades.ts";

/** A route: how it is asked, how it words refusals, what it does. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** `:name` stands for one part of any text, a last `*` for all the rest. */
  readonly path: string;
  readonly dialect: Dialect;
  /** From the first byte of a request to the first of its answer, milliseconds. @default the service's */
  readonly timeoutMs?: number | undefined;
  /** Answered without a key: what it gives away, everybody may have. @default only `/health` is */
  readonly isPublic?: boolean | undefined;
  handle(call: Call): void | Promise<void>;
  /** Answers clients that ask for a WebSocket at this path. */
  readonly socket?: SocketHandler | undefined;
}

/** A failure of ours, for a log. */
export interface ServeFault {
  readonly requestId: string;
  readonly route: string;
  readonly error: unknown;
}

/** Where a server listens, who may ask it, and callbacks for its calls and failures. */
export interface ServeOptions extends AccessOptions {
  /** 0 takes a free one. */
  readonly port?: number | undefined;
  /** Called with each failure that clients only see as a 5xx. */
  readonly onFault?: ((fault: ServeFault) => void) | undefined;
}

/** The type of each. */
export const serveKinds: OptionKinds<ServeOptions> = {
  host: "string",
  port: "number",
  apiKey: "string",
  open: "boolean",
  corsOrigins: "list",
  onFault: "function",
};

/** What is served. */
interface Service {
  readonly routes: readonly Route[];
  /** From the first byte of a request to its answer, milliseconds. */
  readonly timeoutMs: number;
  readonly defaultPort: number;
  /** An error as clients see it: nothing that names files or other servers. */
  failureOf(error: unknown): Refusal;
  /** How long requests under way may take once it is closed, milliseconds. @default 10000 */
  readonly graceMs?: number;
  /** Called with every call that has ended. */
  onAnswered?(call: Call): void;
  /** Called when it is told to stop, before requests under way have ended. */
  onStopping?(): void;
  /** Gives back what it holds, once no request is under way; also when the port cannot be had. */
  release?(): void | Promise<void>;
}

/** How long answers that were cut short have to reach their clients, milliseconds. */
const lastAnswersMs = 500;

/** Longer than proxies and clients keep connections for a next request, or one would be sent into a closing one. */
const keepAliveMs = 75_000;

/** A server that is listening. */
export class HttpServer {
  readonly host: string;
  readonly port: number;
  readonly #service: Service;
  readonly #server: Server;
  readonly #calls: Set<Call>;
  readonly #upgrades: Upgrades;
  #closing: Promise<void> | undefined;

  private constructor(service: Service, { server, calls, upgrades }: Listening) {
    const { address, port } = server.address() as AddressInfo;
    this.host = address;
    this.port = port;
    this.#service = service;
    this.#server = server;
    this.#calls = calls;
    this.#upgrades = upgrades;
  }

  /**
   * Listens.
   *
   * @param service - routes and their deadline
   * @param options - where, for whom
   * @throws ERR_ARGUMENT for an empty key, or none where other machines can ask; ERR_IO when the port cannot be had
   * @internal
   */
  static async open(service: Service, options: ServeOptions): Promise<HttpServer> {
    try {
      return new HttpServer(service, await listen(service, options));
    } catch (error) {
      await service.release?.();
      throw error;
    }
  }

  /** Where it listens: `http://127.0.0.1:8000`. */
  get url(): string {
    return `http://${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /**
   * Stops: no connection is taken any more, requests under way are answered.
   *
   * @param options `graceMs`: how long requests under way, stalled uploads included, may take before they are refused,
   *   `@default 10000`, a studio's 0
   */
  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    const { graceMs = this.#service.graceMs ?? 10_000 } = checkOptions("close", options, {
      graceMs: "number",
    });
    this.#closing ??= this.#stop(graceMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #stop(graceMs: number): Promise<void> {
    this.#service.onStopping?.();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const call of this.#calls) call.isLast = true;
    this.#upgrades.closeSoon();
    if (!(await this.#isIdleWithin(graceMs))) {
      const stopping = new Refusal("stopping", "the server is shutting down");
      for (const call of this.#calls) call.end(stopping);
      this.#upgrades.end(stopping);
      await this.#isIdleWithin(lastAnswersMs);
    }
    await Promise.race([closed, sleep(lastAnswersMs)]);
    this.#server.closeAllConnections();
    this.#upgrades.terminate();
    await closed;
    await this.#service.release?.();
  }

  async #isIdleWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    const isIdle = (): boolean => this.#calls.size === 0 && this.#upgrades.size === 0;
    while (!isIdle() && performance.now() < end) await sleep(5);
    return isIdle();
  }
}

/** What a server that listens consists of. */
interface Listening {
  readonly server: Server;
  readonly calls: Set<Call>;
  readonly upgrades: Upgrades;
}

async function listen(service: Service, options: ServeOptions): Promise<Listening> {
  checkAccess(options);
  const calls = new Set<Call>();
  const server = createServer(
    { keepAliveTimeout: keepAliveMs, headersTimeout: keepAliveMs + 5000 },
    (incoming, outgoing) => {
      const asked = { incoming, outgoing, calls, isLast: !server.listening };
      // A listener of faults that throws costs its client the connection, and nobody else anything.
      answer(asked, service, options).catch(() => outgoing.destroy());
    },
  );
  const { failureOf, routes } = service;
  const onFault = (fault: ServeFault): void => options.onFault?.(fault);
  const upgrades = new Upgrades(routes, { access: options, failureOf, onFault });
  upgrades.attach(server);
  const { host = defaultHost, port = service.defaultPort } = options;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      reject(
        new SeekError(
          "ERR_IO",
          `${host}:${port}: cannot listen: ${cause.message}. Remedy: another port; --port 0 takes a free one`,
          { cause },
        ),
      );
    });
    server.listen(port, host, resolve);
  });
  return { server, calls, upgrades };
}

interface Asked {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Those that are being answered. */
  readonly calls: Set<Call>;
  readonly isLast: boolean;
}

async function answer(
  { incoming, outgoing, calls, isLast }: Asked,
  { routes, timeoutMs, failureOf, onAnswered }: Service,
  options: ServeOptions,
): Promise<void> {
  const path = pathOf(incoming.url ?? "/");
  const found = findRoutes(routes, path);
  const known = found.find(({ route }) => answers(route, incoming.method)) ?? found[0];
  const { route: { path: route, dialect } = unknownRoute, params = {} } = known ?? {};
  const deadline = known?.route.timeoutMs ?? timeoutMs;
  const call = new Call(incoming, outgoing, { route, dialect, timeoutMs: deadline, params, failureOf });
  const tell = (error: unknown): void => options.onFault?.({ requestId: call.id, route: call.route, error });
  calls.add(call);
  try {
    call.isLast = isLast;
    if (!answerCors(call, options.corsOrigins ?? [])) {
      checkCaller(call, options, known?.route.isPublic ?? route === "/health");
      await routed(call, path, found).handle(call);
    }
    if (call.fault !== undefined) tell(call.fault);
  } catch (error) {
    const refusal = call.failed(error);
    if (call.fault !== undefined) tell(call.fault);
    call.refuse(refusal);
  } finally {
    calls.delete(call);
    onAnswered?.(call);
  }
}

/** The path of a request's target, of an absolute one too; undefined for none. */
function pathOf(target: string): string | undefined {
  if (target.startsWith("/")) return target.split("?", 1)[0];
  return /^https?:/i.test(target) && URL.canParse(target) ? new URL(target).pathname : undefined;
}

/** What is said of a path that no route has. */
const unknownRoute = { path: "other", dialect: "error" } as const;

/** A route, and what the open parts of its path stand for. */
interface Found {
  readonly route: Route;
  readonly params: PathParams;
}

/** The routes of a path, one for each method. */
function findRoutes(routes: readonly Route[], path: string | undefined): Found[] {
  if (path === undefined) return [];
  return routes.flatMap((route) => {
    const params = matchPath(route.path, path);
    return params === undefined ? [] : [{ route, params }];
  });
}

/** Whether a route is asked by a method. */
function answers({ method: expected }: Route, method: string | undefined): boolean {
  return method === expected || (method === "HEAD" && expected === "GET");
}

/** @throws Refusal for a method or path that leads nowhere */
function routed({ incoming: { method } }: Call, path: string | undefined, found: readonly Found[]): Route {
  if (path === undefined) throw new Refusal("invalid_request", "path: malformed");
  const known = found.find(({ route }) => answers(route, method));
  if (known !== undefined) return known.route;
  if (found.length === 0) throw new Refusal("not_found", `${path.slice(0, 100)}: no such path`);
  const methods = [...new Set(found.map(({ route }) => route.method))];
  const message = `${path.slice(0, 100)}: expected ${methods.join(" or ")}, got ${method}`;
  throw new Refusal("method_not_allowed", message, { headers: { allow: methods.join(", ") } });
}
