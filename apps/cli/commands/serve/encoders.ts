/** What `seekrl serve` has beside models: an encoder and a cross-encoder. */

import { z } from "zod";
import { folderName } from "../../../../lib/base/files/hub-cache.ts";
import type { TextEncoders } from "../../../serve/api/texts/routes.ts";
import { inGroup, modelFolder } from "../../fields.ts";
import { encoderForm } from "../../options/search-options.ts";

const folder = z.strictObject({
  folder: modelFolder(z.string().describe("Its folder.")),
  name: z.string().min(1).optional().describe("Its name; the folder's unless given."),
  ...encoderForm,
});

/** Folders and names of both. */
export const encoderOptions = inGroup("Embeddings", {
  encoder: folder.optional().meta({ head: "folder", description: "Serves an encoder under /v1/embeddings." }),
  crossEncoder: folder
    .optional()
    .meta({ head: "folder", description: "Serves a cross-encoder under /v1/rerank." }),
});

const schema = z.object(encoderOptions);

/** What is served, and closed when it is done with. */
type OpenedEncoders = Pick<TextEncoders, "embedding" | "reranker"> & Disposable;

/** The name under which a folder answers. */
const nameOf = (given: z.output<typeof folder>): string => given.name ?? folderName(given.folder);

/** Opens what the options say. */
export async function openEncoders({
  encoder,
  crossEncoder,
}: z.output<typeof schema>): Promise<OpenedEncoders> {
  const { Encoder } = await import("../../../../lib/search/embed/encoder.ts");
  const { Reranker } = await import("../../../../lib/search/embed/reranker.ts");
  const optionsOf = ({ dtype, device }: z.output<typeof folder>) => ({ dtype, device });
  const embedder = encoder && (await Encoder.open(encoder.folder, optionsOf(encoder)));
  try {
    const reranker = crossEncoder && (await Reranker.open(crossEncoder.folder, optionsOf(crossEncoder)));
    return {
      embedding: encoder && embedder && { model: nameOf(encoder), embedder },
      reranker: crossEncoder && reranker && { model: nameOf(crossEncoder), reranker },
      [Symbol.dispose]: () => {
        embedder?.close();
        reranker?.close();
      },
    };
  } catch (error) {
    embedder?.close();
    throw error;
  }
}
