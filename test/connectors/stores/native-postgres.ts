/** The machine's own PostgreSQL, in a folder of its own, where there is one: it times out, is cancelled, restarts. */
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../apps/cluster/free-port.ts";

/** A server that can be stopped and started. */
export interface NativePostgres {
  readonly url: string;
  start(): void;
  /** At once, as in a crash of the machine's choosing. */
  stop(): void;
  remove(): void;
}

/** Debian keeps the server's programs out of the path. */
function findPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root) : [];
  return versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

/** Makes and starts one; undefined where PostgreSQL's programs are not installed. */
export async function startNativePostgres(): Promise<NativePostgres | undefined> {
  const bin = findPrograms();
  if (bin === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "seekrl-pg-"));
  // PostgreSQL refuses to run as root.
  const nobody = 65534;
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if (process.getuid?.() === 0) chownSync(folder, nobody, nobody);
  const run = (program: string, ...args: string[]): void => {
    const { status, error } = spawnSync(join(bin, program), args, { ...user, cwd: folder, stdio: "ignore" });
    if (status !== 0)
      throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? `exit code ${status}`}`);
  };
  const port = await freePort();
  const data = join(folder, "data");
  const how = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off`;
  const start = (): void => run("pg_ctl", "-D", data, "-w", "-o", how, "-l", join(folder, "log"), "start");
  const stop = (): void => run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop");
  run("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C");
  start();
  const remove = (): void => {
    stop();
    rmSync(folder, { recursive: true });
  };
  return { url: `postgresql://postgres@127.0.0.1:${port}/postgres`, start, stop, remove };
}
