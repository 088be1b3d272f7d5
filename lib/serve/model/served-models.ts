/** Models by their names. */
import { SeekError } from "../../base/errors.ts";
import { refused } from "../api/fields/refuse.ts";
import type { ServedModel } from "../reply/reply.ts";

/** The models of a server. */
export class ServedModels {
  readonly #byId = new Map<string, ServedModel>();

  /** @throws ERR_ARGUMENT for none, and for two of one name */
  constructor(models: readonly ServedModel[]) {
    if (models.length === 0) throw new SeekError("ERR_ARGUMENT", "models: expected at least one, got none");
    for (const model of models) {
      if (this.#byId.has(model.id)) throw new SeekError("ERR_ARGUMENT", `models: two are named ${model.id}`);
      this.#byId.set(model.id, model);
    }
  }

  /** All of them, in order. */
  list(): readonly ServedModel[] {
    return [...this.#byId.values()];
  }

  /** @throws Refusal when there is none of that name */
  find(id: string): ServedModel {
    const found = this.#byId.get(id);
    if (found !== undefined) return found;
    const known = [...this.#byId.keys()].join(", ").slice(0, 300);
    throw refused(["model"], `expected one of ${known}, got ${id.slice(0, 100)}`, "model_not_found");
  }
}
