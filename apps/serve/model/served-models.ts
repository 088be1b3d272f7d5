/** Models by their names. */
import { SeekError } from "../../../lib/base/errors.ts";
import { refused } from "../http/refusal.ts";
import type { ServedModel } from "../reply/reply.ts";

/** The models of a server. */
export class ServedModels {
  readonly #byId = new Map<string, ServedModel>();
  readonly #first: ServedModel;
  readonly #anyName: boolean;

  /** @throws ERR_ARGUMENT for none, and for two of one name */
  constructor(
    models: readonly ServedModel[],
    { anyName = false }: { readonly anyName?: boolean | undefined },
  ) {
    const [first] = models;
    if (first === undefined) throw new SeekError("ERR_ARGUMENT", "models: expected at least one, got none");
    this.#first = first;
    this.#anyName = anyName;
    for (const model of models) {
      if (this.#byId.has(model.id)) throw new SeekError("ERR_ARGUMENT", `models: two are named ${model.id}`);
      this.#byId.set(model.id, model);
    }
  }

  /** All of them, in order. */
  list(): readonly ServedModel[] {
    return [...this.#byId.values()];
  }

  /**
   * The one of a name, and the first one where none is named.
   *
   * @throws Refusal when there is none of that name, unless any will do
   */
  find(id: string | null | undefined): ServedModel {
    if (id == null) return this.#first;
    const found = this.#byId.get(id);
    if (found !== undefined) return found;
    if (this.#anyName) return this.#first;
    const known = [...this.#byId.keys()].join(", ").slice(0, 300);
    throw refused(["model"], `expected one of ${known}, got ${id.slice(0, 100)}`, "model_not_found");
  }
}
