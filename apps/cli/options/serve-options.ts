/** Where a service listens, and whom it answers. */
import { z } from "zod";
import { messageOf } from "../../../lib/base/errors.ts";
import type { ServeOptions } from "../../serve/http/http-server.ts";
import type { CommandIo } from "../command.ts";

/** Holds the key that clients must send; an option would show it to every user of the machine. */
export const keyVariable = "SEEKRL_API_KEY";

/** Address, port, who may ask, and the time to stop in. */
export const serveOptions = (port: number) => ({
  host: z
    .string()
    .default("127.0.0.1")
    .describe(
      `address to listen on; another than this machine's own needs a key in ${keyVariable} or --open`,
    ),
  port: z.int().min(0).max(65535).default(port).describe("port; 0 takes a free one"),
  open: z.boolean().default(false).describe("answers whoever reaches the address, without a key"),
  corsOrigin: z
    .array(z.string())
    .default([])
    .describe('web page that may ask from a browser: "https://chat.example", "localhost" or "*"'),
  graceMs: z.int().min(0).default(10_000).describe("time for requests under way when stopping, milliseconds"),
});

interface ServedOptions {
  readonly host: string;
  readonly port: number;
  readonly open: boolean;
  readonly corsOrigin?: readonly string[];
}

/** The same for a server, which logs its failures. */
export function servedAt(
  { host, port, open, corsOrigin }: ServedOptions,
  { log, env }: Pick<CommandIo, "log" | "env">,
): ServeOptions {
  return {
    ...{ host, port, open, corsOrigins: corsOrigin, apiKey: env[keyVariable] },
    onFault: ({ requestId, route, error }) => log(`${route} ${requestId}: ${messageOf(error)}`),
  };
}
