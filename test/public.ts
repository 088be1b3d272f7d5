/** Every public value in one object, as if all entries were imported. */

import * as aiSdk from "../apps/ai-sdk.ts";
import * as lint from "../apps/lint.ts";
import * as serve from "../apps/serve.ts";
import * as world from "../apps/world.ts";
import * as data from "../lib/data.ts";
import * as door from "../lib/index.ts";
import * as recipes from "../lib/recipes.ts";
import * as rewards from "../lib/rewards.ts";
import * as search from "../lib/search.ts";
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
