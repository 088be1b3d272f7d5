/** Chat templates: messages to the text a model was trained on. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { checkArgument, checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { findText, readText } from "../../base/files/regular-file.ts";
import { isGguf } from "../../base/gguf/gguf.ts";
import { lazySchema, zod } from "../../base/on-first-use.ts";
import { readGgufTemplates } from "../tokenizers/gguf/gguf-tokenizer.ts";
import { readJson, tokenText } from "../tokenizers/special-ids.ts";
import { type JinjaTemplate, parseTemplate } from "./jinja.ts";
import { formatTime } from "./strftime.ts";

/** One turn of a conversation. Templates read further keys, such as `tool_calls`, as they are. */
export interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly [key: string]: unknown;
}

/** How {@link ChatTemplate.render} writes a conversation. */
export interface RenderOptions {
  /** End with the words that begin the model's turn. @default false */
  readonly addGenerationPrompt?: boolean;
  /** JSON schemas of functions the model may call. */
  readonly tools?: readonly object[];
  /** Further variables of the template, for example `{ enable_thinking: false }`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The time that templates may print (in UTC); without it they use the date they carry, so prompts stay the same. */
  readonly now?: Date;
}

const renderKinds: OptionKinds<RenderOptions> = {
  addGenerationPrompt: "boolean",
  tools: "list",
  variables: "object",
  now: "object",
};

const oneTemplate = lazySchema((z) => z.string().transform((template) => ({ default: template })));
const namedTemplates = lazySchema((z) =>
  z
    .array(z.looseObject({ name: z.string(), template: z.string() }))
    .transform((list) => Object.fromEntries(list.map(({ name, template }) => [name, template]))),
);

const configSchema = lazySchema((z) =>
  z.looseObject({ chat_template: z.union([oneTemplate(), namedTemplates()]).nullish() }),
);

/** `chat_templates/<name>.jinja`, the form in which a folder holds several. */
async function readFolder(folder: string): Promise<[string, string][]> {
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith(".jinja"));
  return Promise.all(
    files.map(async (file) => [file.slice(0, -".jinja".length), await readText(join(folder, file))]),
  );
}

/** Strings of the tokenizer's configuration that a template may print: `bos_token`, `eos_token` and so on. */
function tokenVariables(config: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(config).filter(([key]) => key.endsWith("_token"));
  return Object.fromEntries(
    entries.flatMap(([key, value]) => {
      const token = tokenText().safeParse(value);
      return token.success ? [[key, token.data]] : [];
    }),
  );
}

/**
 * The chat template of a model. It renders as Python's transformers does.
 *
 * @example
 * const template = await ChatTemplate.load("models/qwen2.5-0.5b");
 * template?.render([{ role: "user", content: "Hi" }], { addGenerationPrompt: true });
 */
export class ChatTemplate {
  readonly #templates = new Map<string, JinjaTemplate>();
  /** The Jinja source that conversations with tools are rendered with; it shows how the model writes calls. */
  readonly sourceWithTools: string;
  /** What it was made of, for another thread. @internal */
  readonly parts: {
    readonly templates: Readonly<Record<string, string>>;
    readonly variables: Readonly<Record<string, string>>;
  };

  /**
   * @param templates one Jinja source, or several by name, of which "default" (or the only one) is used and "tool_use"
   *   when tools are given
   * @param variables texts every rendering knows, such as `bos_token`
   * @throws ERR_FORMAT when a source is not Jinja
   */
  constructor(
    templates: string | Readonly<Record<string, string>>,
    variables: Readonly<Record<string, string>> = {},
  ) {
    const sources = typeof templates === "string" ? { default: templates } : templates;
    this.parts = { templates: sources, variables };
    this.sourceWithTools = sources.tool_use ?? sources.default ?? Object.values(sources)[0] ?? "";
    for (const [name, source] of Object.entries(sources)) {
      try {
        this.#templates.set(name, parseTemplate(source));
      } catch (cause) {
        throw new SeekError("ERR_FORMAT", `chat template ${name}: ${(cause as Error).message}`, { cause });
      }
    }
  }

  /**
   * Loads chat_template.jinja, chat_templates/*.jinja, or the `chat_template` of tokenizer_config.json, in that order; or
   * what a GGUF file holds.
   *
   * @param folder a model's folder, or a GGUF file
   * @returns undefined when the model has no chat template
   * @throws ERR_IO when a file cannot be read; ERR_FORMAT when one is malformed or is not Jinja
   */
  static async load(folder: string): Promise<ChatTemplate | undefined> {
    checkArgument("ChatTemplate.load: folder", folder, "string");
    if (isGguf(folder)) return fromGguf(folder);
    const config = (await readJson(join(folder, "tokenizer_config.json"), configSchema())) ?? {};
    const specials = (await readJson(join(folder, "special_tokens_map.json"), zod().looseObject({}))) ?? {};
    const file = await findText(join(folder, "chat_template.jinja"));
    const templates = new Map(await readFolder(join(folder, "chat_templates")));
    if (file !== undefined) templates.set("default", file);
    const sources: Readonly<Record<string, string>> =
      templates.size > 0 ? Object.fromEntries(templates) : (config.chat_template ?? {});
    if (Object.keys(sources).length === 0) return undefined;
    try {
      return new ChatTemplate(sources, tokenVariables({ ...specials, ...config }));
    } catch (cause) {
      throw new SeekError("ERR_FORMAT", `${folder}: ${(cause as Error).message}`, { cause });
    }
  }

  /**
   * Writes a conversation as the text of a prompt.
   *
   * @param messages the turns so far, oldest first
   * @param options tools, further variables, and whether the model's turn begins
   * @returns the prompt
   * @throws ERR_ARGUMENT for an unknown key, and when the template refuses the messages; the message is the template's own. ERR_FORMAT when it
   *   loops on and on
   */
  render(messages: readonly Message[], options: RenderOptions = {}): string {
    checkArgument("chatTemplate.render: messages", messages, "list");
    checkOptions("chatTemplate.render", options, renderKinds);
    const { addGenerationPrompt = false, tools, variables = {}, now } = options;
    const clock = now === undefined ? {} : { strftime_now: (format: string) => formatTime(now, format) };
    const call = {
      messages,
      tools: tools ?? null,
      documents: null,
      add_generation_prompt: addGenerationPrompt,
    };
    try {
      return this.#choose(tools !== undefined).render({
        ...this.parts.variables,
        ...clock,
        ...call,
        ...variables,
      });
    } catch (cause) {
      const code = cause instanceof SeekError ? cause.code : "ERR_ARGUMENT";
      throw new SeekError(code, `chat template: ${(cause as Error).message}`, { cause });
    }
  }

  /**
   * Whether a variable can change anything.
   *
   * @param name of the variable, such as `enable_thinking`
   * @returns whether one of the sources has the name in it
   */
  reads(name: string): boolean {
    checkArgument("chatTemplate.reads: name", name, "string");
    return Object.values(this.parts.templates).some((source) => source.split(/\W+/).includes(name));
  }

  #choose(hasTools: boolean): JinjaTemplate {
    const only = this.#templates.size === 1 ? [...this.#templates.values()][0] : undefined;
    const chosen =
      (hasTools ? this.#templates.get("tool_use") : undefined) ?? this.#templates.get("default") ?? only;
    if (chosen !== undefined) return chosen;
    throw new Error(`expected one named "default", got ${[...this.#templates.keys()].join(", ") || "none"}`);
  }
}

async function fromGguf(path: string): Promise<ChatTemplate | undefined> {
  const { templates, variables } = await readGgufTemplates(path);
  return Object.keys(templates).length === 0 ? undefined : new ChatTemplate(templates, variables);
}
