/** What a served agent is made of. */
import type { SamplingOptions } from "../../../lib/engine/sampling-options.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { PromptTemplate, SequenceSource, TextCodec } from "../../../lib/rollout/seams.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { Admission } from "../generation/admission.ts";

/** What a served agent is made of. */
export interface AgentModelParts {
  /** Its name, such as `agent/rag-r1`. */
  readonly id: string;
  /** The name of its language model. @default none */
  readonly parent?: string | undefined;
  readonly engine: SequenceSource;
  readonly tokenizer: TextCodec;
  readonly chatTemplate?: PromptTemplate | undefined;
  /** Its conversation, tools and limits. */
  readonly recipe: Pick<Recipe, "format" | "limits" | "tools" | "searchThrough">;
  readonly search: Search;
  /** How its tokens are drawn where a request does not say it. @default the likeliest token is taken: `{ temperature: 0 }` */
  readonly sampling?: SamplingOptions | undefined;
  /** Of the chat template, where a request does not say them. @default none */
  readonly templateVariables?: Readonly<Record<string, unknown>> | undefined;
  /** Longest conversation of the language model, in tokens. */
  readonly contextTokens: number;
  /** Lets requests in while the engine has memory for them. @default all at once @internal */
  readonly admission?: Admission | undefined;
}
