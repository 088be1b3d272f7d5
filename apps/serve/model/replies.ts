/** Replies of a server, counted, and where that is asked for recorded. */

import type { Serving } from "../api/fields/serving.ts";
import { LearningModel } from "../learn/learning-model.ts";
import { recorded } from "../learn/record.ts";
import { Recorder, type ScoredChoice } from "../learn/recorder.ts";
import type { ServedModel } from "../reply/reply.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ModelMetrics } from "./metrics.ts";
import type { ModelServerOptions } from "./options.ts";

/** Records where that is asked for, and where a model learns from it. */
export async function openRecorder({
  models,
  record,
  onFault,
}: ModelServerOptions): Promise<Recorder | undefined> {
  const learning = models.filter((model) => model instanceof LearningModel);
  if (record === undefined && learning.length === 0) return undefined;
  const onScore = (choice: ScoredChoice): void => {
    for (const model of learning) model.score(choice);
  };
  return Recorder.open({
    ...record,
    onScore,
    onFault: (error) => onFault?.({ requestId: "", route: "/v1/feedback", error }),
  });
}

/** Who is told of replies. */
interface Told {
  readonly metrics: ModelMetrics;
  readonly recorder: Recorder | undefined;
  readonly telemetry: Telemetry | undefined;
}

/** How models are asked. */
export function repliesOf({ metrics, recorder, telemetry }: Told): Serving["reply"] {
  return (call, { id, model, request, firstChoice }) => {
    const version = model instanceof LearningModel ? model.choose() : undefined;
    const answering: Pick<ServedModel, "reply"> = version ?? model;
    const watch = telemetry && (() => telemetry.begin(call, { id, model, request }));
    const reply = metrics.counted(model.id, answering.reply(request, call.signal), watch);
    if (recorder === undefined) return reply;
    const of = { id, model: model.id, version: version?.number, firstChoice };
    return recorded(reply, of, (choice) => recorder.record(choice));
  };
}
