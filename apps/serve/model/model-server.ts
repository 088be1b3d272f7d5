/** Language models and agents as a service, in the protocols that clients of language models speak. */
import { checkOptions } from "../../../lib/base/check-options.ts";
import { defined } from "../../../lib/base/defined.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { chatRoutes } from "../api/chat/routes.ts";
import { completionRoutes } from "../api/completions/routes.ts";
import { messagesRoutes } from "../api/messages/routes.ts";
import { type ResponseServing, responsesRoutes } from "../api/responses/routes.ts";
import { type TextEncoders, textRoutes } from "../api/texts/routes.ts";
import type { Call } from "../http/call.ts";
import { HttpServer, type Route } from "../http/http-server.ts";
import { failureOf, Refusal } from "../http/refusal.ts";
import { feedbackRoutes } from "../learn/feedback.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { LanguageModel } from "./language-model.ts";
import { ModelMetrics } from "./metrics.ts";
import { defaultModelLimits, type ModelServerOptions, modelServerKinds } from "./options.ts";
import { openPushed } from "./pushed-model.ts";
import { openRecorder, repliesOf } from "./replies.ts";
import { ServedModels } from "./served-models.ts";
import { weightsRoutes } from "./weights-routes.ts";

/** A failure as clients see it: nothing of its message, which may name files or other servers. */
function modelFailure(cause: unknown): Refusal {
  const isClosed = cause instanceof SeekError && cause.code === "ERR_STATE";
  return isClosed
    ? new Refusal("stopping", "the model is being closed", { cause })
    : failureOf("the model")(cause);
}

/** The same without `/v1`, which many clients leave out, where no other route has that path. */
function shortened(routes: readonly Route[]): Route[] {
  const taken = new Set(routes.map(({ path }) => path));
  return routes.flatMap((route) => {
    const path = route.path.replace(/^\/v1\//, "/");
    return taken.has(path) ? [] : [{ ...route, path }];
  });
}

function routesOf(serving: ResponseServing, metrics: ModelMetrics, encoders: TextEncoders): Route[] {
  const routes: Route[] = [
    ...chatRoutes(serving),
    ...completionRoutes(serving),
    ...responsesRoutes(serving),
    ...messagesRoutes(serving),
    ...textRoutes(serving, encoders),
    { method: "GET", path: "/metrics", dialect: "error", handle: (call) => metrics.answer(call) },
  ];
  return [...routes, ...shortened(routes)];
}

/**
 * Serves models on one port, in OpenAI's and Anthropic's protocols.
 *
 * @param options what answers, where, within which limits
 * @returns the server, listening
 * @throws ERR_ARGUMENT for no model or two of one name, an empty key, or none where other machines can ask, and for weights
 *   that would be accepted from anybody; ERR_IO when the port cannot be had; ERR_RANGE for a limit below 1
 * @example
 * const models = languageModels({ name: "small", engine, tokenizer, chatTemplate });
 * const server = await serveModels({ models, port: 0 });
 * const body = JSON.stringify({ model: "small", messages: [{ role: "user", content: "Hi" }], max_tokens: 4 });
 * const answer = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", body });
 * const { choices } = await answer.json();
 * assert.equal(choices[0].message.role, "assistant");
 * await server.close();
 */
export async function serveModels(options: ModelServerOptions): Promise<HttpServer> {
  checkOptions("serveModels", options, modelServerKinds, ["models"]);
  const limits = { ...defaultModelLimits, ...defined(options.limits ?? {}) };
  const pushed = options.acceptWeights ? await openPushed(options) : undefined;
  const models = new ServedModels(pushed?.among(options.models) ?? options.models, options);
  const metrics = new ModelMetrics(options.models.filter((model) => model instanceof LanguageModel));
  const recorder = await openRecorder(options);
  const told = { metrics, recorder, telemetry: await Telemetry.open() };
  const serving: ResponseServing = { limits, models, reply: repliesOf(told) };
  const service = {
    routes: [
      ...routesOf(serving, metrics, options),
      ...feedbackRoutes(recorder, limits),
      ...weightsRoutes(pushed, limits),
      ...(options.mounted ?? []),
    ],
    timeoutMs: limits.timeoutMs,
    defaultPort: 8000,
    failureOf: modelFailure,
    onAnswered: (call: Call) => metrics.countRequest(call),
    release: async () => {
      metrics.close();
      await recorder?.close();
      await pushed?.close();
    },
  };
  return HttpServer.open(service, options);
}
