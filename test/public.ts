/** Every public value in one object, as if all entries were imported. */
import * as lint from "../apps/lint.ts";
import * as world from "../apps/world.ts";
import * as aiSdk from "../lib/ai-sdk.ts";
import * as data from "../lib/data.ts";
import * as door from "../lib/index.ts";
import * as recipes from "../lib/recipes.ts";
import * as rewards from "../lib/rewards.ts";
import * as search from "../lib/search.ts";
import * as serve from "../lib/serve.ts";
import * as tools from "../lib/tools.ts";

export const everything = {
  ...door,
  ...search,
  ...tools,
  ...rewards,
  ...recipes,
  ...data,
  ...serve,
  ...aiSdk,
  ...world,
  ...lint,
};
