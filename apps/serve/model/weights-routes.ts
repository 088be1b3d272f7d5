/** `/v1/weights`: a trainer sends weights, and the model samples from them. */
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import type { ApiLimits } from "../api/fields/serving.ts";
import type { Call } from "../http/call.ts";
import type { Route } from "../http/http-server.ts";
import { absent, refused } from "../http/refusal.ts";
import type { PushedModel } from "./pushed-model.ts";

const path = "/v1/weights";
const filePath = `${path}/:upload/:file`;

/** A large model takes long on a slow line. */
const timeoutMs = 1_800_000;

const loadBody = lazySchema((z) =>
  z.strictObject({
    /** Told by the replies that were sampled from these weights. */
    version: z.int().min(0),
    /** Files that were sent under this name. */
    upload: z.string().min(1).max(64).optional(),
    /** Of this machine, in place of an upload. */
    folder: z.string().min(1).optional(),
  }),
);

const told = ({ id, version }: PushedModel): object => ({
  ...{ object: "weights", model: id },
  version: version ?? null,
});

async function load(call: Call, pushed: PushedModel, limits: ApiLimits): Promise<void> {
  const { version, upload, folder } = await call.read(loadBody(), limits);
  if ((upload === undefined) === (folder === undefined))
    throw refused(["upload"], "expected either an upload or a folder");
  if (upload === undefined) await pushed.load(folder ?? "", version);
  else await loadUpload(pushed, upload, version);
  call.answer(told(pushed));
}

/** What was sent is forgotten however that ends: whoever tries once more sends it once more. */
async function loadUpload(pushed: PushedModel, upload: string, version: number): Promise<void> {
  const folder = pushed.stage.folderOf(upload);
  try {
    await pushed.load(folder, version);
  } finally {
    await pushed.stage.drop(upload);
  }
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
  const add = async (call: Call): Promise<void> => {
    const { upload = "", file = "" } = call.params;
    await pushed.stage.add(upload, file, call.incoming, call.signal);
    call.answer({ object: "weights.file", upload, file });
  };
  return [
    { ...shared, method: "GET", path, handle: (call) => call.answer(told(pushed)) },
    { ...shared, method: "POST", path, handle: (call) => load(call, pushed, limits) },
    { ...shared, method: "POST", path: filePath, handle: add },
  ];
}
