/** `seekrl studio`: a local page over runs, evaluations and an index. */
import { existsSync } from "node:fs";
import { z } from "zod";
import type { HttpServer, ServeOptions } from "../../../serve/http/http-server.ts";
import type { StudioOptions } from "../../../studio/studio.ts";
import { command, UsageError, untilStopped } from "../../command.ts";
import { keyVariable, servedAt, serveOptions } from "../../options/serve-options.ts";

/** Where runs stand unless others are named. */
const usualRoot = "runs";

const { graceMs: _, ...where } = serveOptions(8321);

async function open(options: StudioOptions, served: ServeOptions): Promise<HttpServer> {
  const { serveStudio } = await import("../../../studio/studio.ts");
  return serveStudio(options, served);
}

/** The command. */
export const studioCommand = command({
  name: "studio",
  summary: `shows runs, evaluations and an index as a local page until it is told to stop; a key in ${keyVariable} is asked of every client`,
  options: z.strictObject({
    runs: z
      .array(z.string())
      .default([usualRoot])
      .describe("run folders, folders of run folders, or files that eval --out wrote"),
    index: z.string().optional().describe("index folder to search in, with the reasons of each hit"),
    ...where,
  }),
  places: ["runs"],
  isService: true,
  run: async ({ runs: roots, index, ...given }, io) => {
    const missing = roots.find((root) => !existsSync(root));
    if (missing !== undefined) {
      const expected = `expected a folder of runs, or a file of eval --out; paths begin at ${process.cwd()}`;
      throw new UsageError(`${missing}: no such file or folder; ${expected}`);
    }
    await using server = await open({ roots, index }, servedAt(given, io));
    const { url, host, port } = server;
    io.write(`studio at ${url}\n`);
    io.result({ url, host, port });
    await untilStopped(io);
  },
});
