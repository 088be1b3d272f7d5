/** The runs and files of results below the studio's roots, found anew now and then, each opened once. */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { digestOf } from "../../../lib/base/files/digests.ts";
import { EvaluationFile } from "../../runs/evaluations/evaluation-file.ts";
import { type FoundPath, findRuns } from "../../runs/find-runs.ts";
import { Refusal } from "../../serve/http/refusal.ts";
import { WatchedRun } from "./watched-run.ts";

/** How long what was found counts, milliseconds. */
const foundForMs = 2000;

/** Letters of a path's digest in its id. */
const digestLetters = 10;

/** A folder or file by its id, and as short a name as tells it apart. */
export interface Known<Opened> {
  readonly id: string;
  readonly name: string;
  readonly opened: Opened;
}

/** What the studio knows of. */
export class Library {
  readonly roots: readonly string[];
  readonly #runs = new Map<string, Known<WatchedRun>>();
  readonly #evaluations = new Map<string, Known<EvaluationFile>>();
  #foundAt = Number.NEGATIVE_INFINITY;
  #finding: Promise<void> | undefined;

  /** @param roots - run folders, folders of run folders, or files of results; those of a live run need not be there yet */
  constructor(roots: readonly string[]) {
    this.roots = roots;
  }

  /** Every run. @throws ERR_IO for a root that went away */
  async runs(): Promise<readonly Known<WatchedRun>[]> {
    await this.#find();
    return [...this.#runs.values()];
  }

  /** Every file of results. @throws ERR_IO */
  async evaluations(): Promise<readonly Known<EvaluationFile>[]> {
    await this.#find();
    return [...this.#evaluations.values()];
  }

  /** @throws Refusal 404 for an id of nothing */
  async run(id: string): Promise<Known<WatchedRun>> {
    return known(this.#runs, id, () => this.#find());
  }

  /** @throws Refusal 404 for an id of nothing */
  async evaluation(id: string): Promise<Known<EvaluationFile>> {
    return known(this.#evaluations, id, () => this.#find());
  }

  /** Looks again, unless that was done a moment ago; what went away is forgotten. */
  #find(): Promise<void> {
    if (performance.now() - this.#foundAt < foundForMs) return Promise.resolve();
    this.#finding ??= this.#findAnew().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  async #findAnew(): Promise<void> {
    const there = this.roots.filter((root) => existsSync(root));
    const { runs, evaluations } = await findRuns(there);
    keep(this.#runs, runs, (path) => new WatchedRun(path));
    keep(this.#evaluations, evaluations, (path) => new EvaluationFile(path));
    this.#foundAt = performance.now();
  }
}

/** The id of a path: words of its name, and a digest of all of it. */
function idOf(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  const words = name.replace(/[^\w.-]+/g, "-").slice(0, 60);
  return `${words}-${digestOf(path).slice(0, digestLetters)}`;
}

async function known<Opened>(
  all: ReadonlyMap<string, Known<Opened>>,
  id: string,
  find: () => Promise<void>,
): Promise<Known<Opened>> {
  if (!all.has(id)) await find();
  const found = all.get(id);
  if (found !== undefined) return found;
  throw new Refusal("not_found", `${id.slice(0, 100)}: no such run or evaluation`);
}

function keep<Opened>(
  all: Map<string, Known<Opened>>,
  found: readonly FoundPath[],
  open: (path: string) => Opened,
): void {
  const ids = new Set(found.map(({ path }) => idOf(path)));
  for (const id of all.keys()) if (!ids.has(id)) all.delete(id);
  for (const { path, root } of found) {
    const id = idOf(path);
    const name = relative(root, path) || (path.split("/").at(-1) ?? path);
    if (!all.has(id)) all.set(id, { id, name, opened: open(path) });
  }
}
