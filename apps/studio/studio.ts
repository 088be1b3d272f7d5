/** The studio: a page over runs, evaluations and an index, as routes of any server or as a server of its own. */
import { join } from "node:path";
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { packageVersion } from "../../lib/base/package-root.ts";
import { holderOf } from "../runs/run-lock.ts";
import type { AccessOptions } from "../serve/http/access/access.ts";
import type { Call } from "../serve/http/call.ts";
import { HttpServer, type Route, type ServeOptions } from "../serve/http/http-server.ts";
import { failureOf } from "../serve/http/refusal.ts";
import type { Studio as Description } from "./api.ts";
import { PageFiles, pageRoutes } from "./page/page-routes.ts";
import { evaluationRoutes } from "./routes/evaluation-routes.ts";
import { indexRoutes } from "./routes/index-routes.ts";
import { runRoutes } from "./routes/run-routes.ts";
import { getRoute } from "./routes/studio-route.ts";
import { trajectoryRoutes } from "./routes/trajectory-routes.ts";
import { RunControl } from "./runs/control.ts";
import { Library } from "./runs/library.ts";
import { StudioIndex } from "./search/studio-index.ts";

/** The port of a studio unless another is given. */
export const studioPort = 8321;

/** Longer than the counts over a large corpus take, milliseconds. */
const timeoutMs = 600_000;

/** What a studio shows. */
export interface StudioOptions {
  /** Run folders, folders of run folders, or files of results. */
  readonly roots: readonly string[];
  /** An index folder to search in. @default none */
  readonly index?: string | undefined;
  /** What the server that it is mounted in can do besides. @default nothing */
  readonly mounted?: { readonly serve: boolean; readonly feedback: boolean } | undefined;
  /** Who may ask that server: without a key and open to others, nobody may stop runs. @default loopback alone */
  readonly access?: AccessOptions | undefined;
  /** The folder of the built page. @default the package's */
  readonly page?: string | undefined;
}

const optionKinds: OptionKinds<StudioOptions> = {
  roots: "list",
  index: "string",
  mounted: "object",
  access: "object",
  page: "string",
};

/** A studio that was opened, to be mounted in a server. */
export class Studio {
  /** Its page and its API. */
  readonly routes: readonly Route[];
  readonly #index: StudioIndex | undefined;

  private constructor(routes: readonly Route[], index: StudioIndex | undefined) {
    this.routes = routes;
    this.#index = index;
  }

  /**
   * Opens a studio; runs are read as they are asked for.
   *
   * @param options - what it shows
   * @returns the studio, to be closed after its server
   * @throws ERR_IO, ERR_FORMAT when the index cannot be opened
   */
  static async open(options: StudioOptions): Promise<Studio> {
    checkOptions("Studio.open", options, optionKinds, ["roots"]);
    const { roots, index: folder, mounted, access, page } = options;
    const library = new Library(roots);
    const control = new RunControl(whyNoControl(access));
    const index = folder === undefined ? undefined : await StudioIndex.open(folder);
    const capabilities = {
      ...{ serve: mounted?.serve ?? false, feedback: mounted?.feedback ?? false },
      ...{ index: index !== undefined, control: control.isAllowed },
    };
    const describe = async (): Promise<Description> => ({
      ...{ version: packageVersion(), capabilities, liveRun: await ownRun(library), roots },
    });
    const routes = [
      getRoute("", describe),
      ...runRoutes({ library, control }),
      ...trajectoryRoutes(library),
      ...evaluationRoutes(library),
      ...indexRoutes(index),
      ...pageRoutes(new PageFiles(page)),
    ];
    return new Studio(routes, index);
  }

  /** Closes its index. */
  close(): void {
    this.#index?.close();
  }
}

/** The run that this very process trains. */
async function ownRun(library: Library): Promise<string | null> {
  for (const { id, opened } of await library.runs()) {
    if ((await holderOf(join(opened.folder.folder, "lock")))?.isOwn) return id;
  }
  return null;
}

function whyNoControl({ apiKey = "", open = false }: AccessOptions = {}): string | undefined {
  if (!open || apiKey !== "") return undefined;
  return "this studio answers everybody without a key: runs are stopped and resumed on the command line";
}

const healthy = (call: Call): void => call.answer({ status: "healthy" });

/**
 * Serves a studio on a port of its own.
 *
 * @param options - runs, evaluations and the index that it shows
 * @param served - where, for whom; `@default` port 8321 of this machine alone
 * @returns the server, listening
 * @throws ERR_ARGUMENT for an empty key, or none where other machines can ask; ERR_IO when the port cannot be had or there
 *   is no index; ERR_FORMAT when the index is damaged
 */
export async function serveStudio(
  options: Omit<StudioOptions, "access">,
  served: ServeOptions = {},
): Promise<HttpServer> {
  const studio = await Studio.open({ ...options, access: served });
  const routes: Route[] = [
    ...studio.routes,
    { method: "GET", path: "/health", dialect: "error", isPublic: true, handle: healthy },
  ];
  const service = {
    ...{ routes, timeoutMs, defaultPort: studioPort, failureOf: failureOf("the studio") },
    // A page that follows a run is let go at once.
    graceMs: 0,
    release: () => studio.close(),
  };
  return HttpServer.open(service, served);
}
