/** The `post_processor` of a tokenizer.json: which ids are put around a single text. */
import type { Codec } from "./codec.ts";
import type { Component } from "./json-decoder.ts";

type Template = Codec["template"];

/** One item of TemplateProcessing's `single` list. */
interface Item {
  readonly SpecialToken?: { readonly id: string };
}

function fromTemplate(component: Component): Template {
  const items = component.single as readonly Item[];
  const specials = component.special_tokens as Readonly<Record<string, { readonly ids: readonly number[] }>>;
  const idsOf = (part: readonly Item[]): number[] =>
    part.flatMap((item) =>
      item.SpecialToken === undefined ? [] : (specials[item.SpecialToken.id]?.ids ?? []),
    );
  const text = items.findIndex((item) => item.SpecialToken === undefined);
  return { prefix: idsOf(items.slice(0, text)), suffix: idsOf(items.slice(text + 1)) };
}

/** BertProcessing and RobertaProcessing name their two marks as [token, id]. */
function fromPair(component: Component): Template {
  const idOf = (key: string): number => (component[key] as [string, number])[1];
  return { prefix: [idOf("cls")], suffix: [idOf("sep")] };
}

/** The ids around a text; inner processors of a sequence come first, as the reference applies them. */
export function templateIds(component: Component | null): Template {
  switch (component?.type) {
    case "TemplateProcessing":
      return fromTemplate(component);
    case "BertProcessing":
    case "RobertaProcessing":
      return fromPair(component);
    case "Sequence":
      return (component.processors as Component[]).map(templateIds).reduce((inner, outer) => ({
        prefix: [...outer.prefix, ...inner.prefix],
        suffix: [...inner.suffix, ...outer.suffix],
      }));
    default:
      return { prefix: [], suffix: [] };
  }
}
