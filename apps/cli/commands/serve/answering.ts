/** All that `seekrl serve` answers with: the model, adapters, the agent, and what learns; closed together. */
import { folderName } from "../../../../lib/base/files/hub-cache.ts";
import type { ProcessGroup } from "../../../../lib/comm/process-group.ts";
import type { Adapter } from "../../../../lib/model/adapter.ts";
import type { Model } from "../../../../lib/model/model.ts";
import type { ServedModel } from "../../../serve/reply/reply.ts";
import { settingOfPolicy } from "../../../world/world-file.ts";
import type { CommandIo } from "../../command.ts";
import { openLocalPolicy, policyFolders } from "../../open/local-policy.ts";
import { namedFolders } from "../../options/model-options.ts";
import { defaultsOf, samplingDefaults } from "./defaults.ts";
import { openLearner } from "./learner.ts";
import type { ServeChoice } from "./serve-choice.ts";
import { namesSearch, openServedAgentSetting, type ServedAgentSetting, servedAgent } from "./served-agent.ts";

/** Who serves, and where it says what it does. */
export interface ServingPlace {
  readonly io: CommandIo;
  readonly tensorParallel: ProcessGroup | undefined;
}

/** What answers. */
interface Answering extends AsyncDisposable {
  readonly models: readonly ServedModel[];
}

/** What was opened, the last first when it is closed. */
class Opened implements AsyncDisposable {
  readonly #closing: (() => unknown)[] = [];

  add<Part>(part: Part, close: (part: Part) => unknown): Part {
    this.#closing.unshift(() => close(part));
    return part;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing.splice(0)) await close();
  }
}

/** Adapters by the names that they are served under. @throws UsageError for two of one name */
async function openAdapters(
  model: Model,
  given: readonly string[],
  opened: Opened,
): Promise<Record<string, Adapter>> {
  const { Adapter } = await import("../../../../lib/model/adapter.ts");
  const byName: Record<string, Adapter> = {};
  for (const { name, folder } of namedFolders(given)) {
    byName[name] = opened.add(await Adapter.load(model, folder), (adapter) => adapter.close());
  }
  return byName;
}

/** The search agent; none where nothing is searched. */
async function openSetting(given: ServeChoice, opened: Opened): Promise<ServedAgentSetting | undefined> {
  const isWorlds = (await settingOfPolicy(await policyFolders({ model: given.model }))) !== undefined;
  if (!namesSearch(given) && given.recipe === undefined && !isWorlds) return undefined;
  const { adapter: _, ...choice } = given;
  return opened.add(await openServedAgentSetting(choice), (setting) => setting[Symbol.dispose]());
}

/**
 * Opens all that answers.
 *
 * @param given - the command's options
 * @param place - is told what the learner does, and names the ranks that share the model
 * @throws what cannot be opened; nothing stays open then
 */
export async function openAnswering(given: ServeChoice, place: ServingPlace): Promise<Answering> {
  const opened = new Opened();
  try {
    return {
      models: await openModels(given, place, opened),
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

async function openModels(
  given: ServeChoice,
  { io, tensorParallel }: ServingPlace,
  opened: Opened,
): Promise<ServedModel[]> {
  const { adapter, ...choice } = given;
  const policy = opened.add(await openLocalPolicy({ ...choice, tensorParallel }, io), (each) =>
    each[Symbol.asyncDispose](),
  );
  const adapters = await openAdapters(policy.model, adapter, opened);
  const setting = await openSetting(given, opened);
  const { openLanguageModels } = await import("../../../serve/model/open-models.ts");
  const { engine, tokenizer, chatTemplate, folder } = policy;
  const { name = folderName(given.model), maxWaiting } = given;
  const defaults = defaultsOf(given);
  const models = openLanguageModels({
    ...{ name, engine, tokenizer, chatTemplate, adapters, maxWaiting, ...defaults },
    sampling: await samplingDefaults(given, folder),
  });
  const [base] = models;
  const { id: parent, admission } = base;
  const served = { parent, admission, ...defaults };
  const agents = setting === undefined ? [] : [await servedAgent(policy, setting, served)];
  if (given.learn === undefined) return [...models, ...agents];
  const learner = await openLearner({ policy, base, setting, defaults }, given.learn, io);
  return [...models, ...agents, opened.add(learner, (each) => each.close())];
}
