/** `/v1/weights`: a trainer sends weights, and the model samples from them. */
import { lazySchema } from "../../base/on-first-use.ts";
import type { ApiLimits } from "../api/fields/serving.ts";
import type { Call } from "../http/call.ts";
import type { Route } from "../http/http-server.ts";
import { absent, refused } from "../http/refusal.ts";
import type { PushedModel } from "./pushed-model.ts";

const path = "/v1/weights";
const filePath = `${path}/:version/:file`;

/** A large model takes long on a slow line. */
const timeoutMs = 1_800_000;

const loadBody = lazySchema((z) =>
  z.strictObject({
    /** Told by the replies that were sampled from these weights. */
    version: z.int().min(0),
    /** Of this machine, in place of the files that were sent under the version. */
    folder: z.string().min(1).optional(),
  }),
);

const told = ({ id, version }: PushedModel): object => ({
  ...{ object: "weights", model: id },
  version: version ?? null,
});

function versionOf({ params: { version = "" } }: Call): number {
  if (/^\d{1,15}$/.test(version)) return Number(version);
  throw refused(["version"], `expected a whole number, got ${version.slice(0, 40)}`);
}

/** The routes; without a model that takes weights they say so. */
export function weightsRoutes(pushed: PushedModel | undefined, limits: ApiLimits): Route[] {
  const shared = { dialect: "error", timeoutMs } as const;
  if (pushed === undefined) {
    const handle = absent(path, "--accept-weights");
    return [
      { ...shared, method: "GET", path, handle },
      { ...shared, method: "POST", path, handle },
      { ...shared, method: "POST", path: filePath, handle },
    ];
  }
  const load = async (call: Call): Promise<void> => {
    const { version, folder } = await call.read(loadBody(), limits);
    await pushed.load(folder ?? pushed.stage.folderOf(version), version);
    await pushed.stage.drop(version);
    call.answer(told(pushed));
  };
  const add = async (call: Call): Promise<void> => {
    const { file = "" } = call.params;
    await pushed.stage.add(versionOf(call), file, call.incoming, call.signal);
    call.answer({ object: "weights.file", file });
  };
  return [
    { ...shared, method: "GET", path, handle: (call) => call.answer(told(pushed)) },
    { ...shared, method: "POST", path, handle: load },
    { ...shared, method: "POST", path: filePath, handle: add },
  ];
}
