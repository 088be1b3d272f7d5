/** The `post_processor` of a tokenizer.json: which ids are put around one text, or around two. */
import { SeekError } from "../../../base/errors.ts";
import type { Marks, PairMarks } from "../codec.ts";
import type { Component } from "./component.ts";

/** One item of TemplateProcessing's `single` and `pair` lists. */
interface Item {
  readonly SpecialToken?: { readonly id: string };
  readonly Sequence?: { readonly type_id: number };
}

function idsOf(component: Component, part: readonly Item[]): number[] {
  const specials = component.special_tokens as Readonly<Record<string, { readonly ids: readonly number[] }>>;
  return part.flatMap((item) =>
    item.SpecialToken === undefined ? [] : (specials[item.SpecialToken.id]?.ids ?? []),
  );
}

function fromTemplate(component: Component): Marks {
  const items = component.single as readonly Item[];
  const text = items.findIndex((item) => item.SpecialToken === undefined);
  return { prefix: idsOf(component, items.slice(0, text)), suffix: idsOf(component, items.slice(text + 1)) };
}

function pairFromTemplate(component: Component): PairMarks | undefined {
  const items = component.pair as readonly Item[];
  const first = items.findIndex((item) => item.Sequence !== undefined);
  const second = items.findLastIndex((item) => item.Sequence !== undefined);
  if (first === second) return undefined;
  return {
    prefix: idsOf(component, items.slice(0, first)),
    middle: idsOf(component, items.slice(first + 1, second)),
    suffix: idsOf(component, items.slice(second + 1)),
    secondType: items[second]?.Sequence?.type_id ?? 0,
  };
}

/** BertProcessing and RobertaProcessing name their two marks as [token, id]. */
const markOf = (component: Component, key: string): number => (component[key] as [string, number])[1];

/** The ids around a text; inner processors of a sequence come first, as the reference applies them. */
export function templateIds(component: Component | null): Marks {
  switch (component?.type) {
    case "TemplateProcessing":
      return fromTemplate(component);
    case "BertProcessing":
    case "RobertaProcessing":
      return { prefix: [markOf(component, "cls")], suffix: [markOf(component, "sep")] };
    case "Sequence":
      return (component.processors as Component[]).map(templateIds).reduce((inner, outer) => ({
        prefix: [...outer.prefix, ...inner.prefix],
        suffix: [...inner.suffix, ...outer.suffix],
      }));
    case "ByteLevel":
    case undefined:
      return { prefix: [], suffix: [] };
    default:
      throw new SeekError("ERR_FORMAT", `post_processor: ${component?.type} is not supported`);
  }
}

/** The ids around and between two texts; undefined where the format says nothing of pairs. */
export function pairTemplateIds(component: Component | null): PairMarks | undefined {
  if (component?.type === "TemplateProcessing") return pairFromTemplate(component);
  if (component?.type === "Sequence")
    return (component.processors as Component[]).map(pairTemplateIds).find((marks) => marks !== undefined);
  if (component?.type !== "BertProcessing" && component?.type !== "RobertaProcessing") return undefined;
  const cls = markOf(component, "cls");
  const sep = markOf(component, "sep");
  const isBert = component.type === "BertProcessing";
  return {
    prefix: [cls],
    middle: isBert ? [sep] : [sep, sep],
    suffix: [sep],
    secondType: isBert ? 1 : 0,
  };
}
