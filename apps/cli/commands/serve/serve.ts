/** `seekrl serve`: a model, adapters on it and an agent over HTTP. */
import type { HttpServer } from "../../../serve/http/http-server.ts";
import type { ModelServerOptions } from "../../../serve/model/options.ts";
import type { Studio } from "../../../studio/studio.ts";
import { type CommandIo, command, untilStopped } from "../../command.ts";
import { onSharedModel } from "../../job.ts";
import { keyVariable, servedAt } from "../../options/serve-options.ts";
import { openAnswering, type ServingPlace } from "./answering.ts";
import { openEncoders } from "./encoders.ts";
import { limitsOf, type ServeChoice, serveChoice } from "./serve-choice.ts";

const noStudio = { routes: [], close: () => {} };

/** The studio on the server's own port; none where it is not wanted. */
async function openStudio(given: ServeChoice, io: CommandIo): Promise<Pick<Studio, "routes" | "close">> {
  if (!given.studio) return noStudio;
  const { Studio: Opened } = await import("../../../studio/studio.ts");
  const { index, learn, record } = given;
  return Opened.open({
    roots: learn === undefined ? [] : [learn.folder],
    index: index?.folder,
    mounted: { serve: true, feedback: (learn ?? record) !== undefined },
    access: servedAt(given, io),
  });
}

async function listen(
  answering: Pick<ModelServerOptions, "models" | "embedding" | "reranker" | "mounted">,
  given: ServeChoice,
  io: CommandIo,
): Promise<HttpServer> {
  const { serveModels } = await import("../../../serve/model/model-server.ts");
  const { anyName, acceptWeights, record: folder } = given;
  const record = folder === undefined ? undefined : { folder };
  return serveModels({
    ...answering,
    limits: limitsOf(given),
    anyName,
    acceptWeights,
    record,
    ...servedAt(given, io),
  });
}

/** Tells where it listens, and waits until it is told to stop. */
async function serveUntilStopped(
  { url, host, port }: HttpServer,
  { models, studio }: { readonly models: readonly string[]; readonly studio: boolean },
  io: CommandIo,
): Promise<void> {
  io.write(`${models.join(", ")} at ${url}\n`);
  if (studio) io.write(`studio at ${url}/studio/\n`);
  io.result({ url, host, port, models });
  await untilStopped(io);
}

/** The command. */
export const serveCommand = command({
  name: "serve",
  summary: `serves a model, adapters on it and a search agent to clients of OpenAI and Anthropic until it is told to stop; a key in ${keyVariable} is asked of every client`,
  options: serveChoice,
  isService: true,
  knowsRanks: true,
  run: (given, io) =>
    onSharedModel(io, given.tensorParallel, (tensorParallel) => serve(given, { io, tensorParallel })),
});

async function serve(given: ServeChoice, place: ServingPlace): Promise<void> {
  const { io } = place;
  await using answering = await openAnswering(given, place);
  using encoders = await openEncoders(given);
  const studio = await openStudio(given, io);
  const { models } = answering;
  const server = await listen({ ...encoders, models, mounted: studio.routes }, given, io);
  try {
    await serveUntilStopped(server, { models: models.map(({ id }) => id), studio: given.studio }, io);
  } finally {
    await server.close({ graceMs: given.graceMs });
    studio.close();
  }
}
