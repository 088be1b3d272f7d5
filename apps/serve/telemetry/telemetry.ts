/** Spans and metrics of replies for OpenTelemetry, where its API is installed and somebody has registered what exports them. */
import type { IncomingMessage } from "node:http";
import type { Attributes, Context, Histogram, Meter, Tracer } from "@opentelemetry/api";
import type { ReplyRequest, ServedModel } from "../reply/reply.ts";
import { histograms, operationOf, provider, type ReplyHistograms, requestAttributes } from "./names.ts";
import { WatchedReply } from "./watched-reply.ts";

type Api = typeof import("@opentelemetry/api");

/** A reply that begins. */
interface AskedReply {
  readonly id: string;
  readonly model: Pick<ServedModel, "id" | "text">;
  readonly request: ReplyRequest;
}

/** Its client's request. */
interface Caller {
  readonly incoming: IncomingMessage;
  readonly signal: AbortSignal;
}

/** Under which all of it stands. */
const scope = "seekrl";

/** The API; nothing where it is not installed. */
async function loadApi(): Promise<Api | undefined> {
  try {
    return await import("@opentelemetry/api");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** The histograms; none where nobody collects metrics. */
function histogramsOf({ metrics, createNoopMeter }: Api): ReplyHistograms | undefined {
  const meter = metrics.getMeter(scope);
  if (meter === createNoopMeter()) return undefined;
  const made = ({ name, description, bounds }: (typeof histograms)[keyof typeof histograms]) =>
    histogramOf(meter, name, { description, bounds });
  const { duration, first, perToken } = histograms;
  return { duration: made(duration), first: made(first), perToken: made(perToken) };
}

function histogramOf(
  meter: Meter,
  name: string,
  { description, bounds }: { readonly description: string; readonly bounds: readonly number[] },
): Histogram {
  const advice = { explicitBucketBoundaries: [...bounds] };
  return meter.createHistogram(name, { description, unit: "s", advice });
}

/** Tells OpenTelemetry of replies. */
export class Telemetry {
  readonly #api: Api;
  readonly #tracer: Tracer;
  readonly #histograms: ReplyHistograms | undefined;

  private constructor(api: Api) {
    this.#api = api;
    this.#tracer = api.trace.getTracer(scope);
    this.#histograms = histogramsOf(api);
  }

  /** Loads the API. @returns nothing where it is not installed */
  static async open(): Promise<Telemetry | undefined> {
    const api = await loadApi();
    return api && new Telemetry(api);
  }

  /**
   * Begins the span of a reply, within that of its client where a `traceparent` names one.
   *
   * @returns what watches the reply; nothing where nobody would be told
   */
  begin(caller: Caller, { id, model, request }: AskedReply): WatchedReply | undefined {
    const { localAddress, localPort } = caller.incoming.socket;
    const operation = operationOf(model, request);
    const shared: Attributes = {
      ...provider,
      "gen_ai.operation.name": operation,
      "gen_ai.request.model": model.id,
      "gen_ai.response.model": model.id,
      "server.address": localAddress,
      "server.port": localPort,
    };
    const attributes = {
      ...shared,
      ...requestAttributes(request),
      ...(operation === "invoke_agent" ? { "gen_ai.agent.name": model.id } : {}),
      "gen_ai.response.id": id,
    };
    const kind = this.#api.SpanKind.SERVER;
    const parent = this.#parentOf(caller);
    const span = this.#tracer.startSpan(`${operation} ${model.id}`, { kind, attributes }, parent);
    if (!span.isRecording() && this.#histograms === undefined) return undefined;
    const within = this.#api.trace.setSpan(parent, span);
    const beginInner = (name: string, inner: Attributes) =>
      this.#tracer.startSpan(name, { attributes: inner }, within);
    const { signal } = caller;
    return new WatchedReply({ span, beginInner, attributes: shared, histograms: this.#histograms, signal });
  }

  /** The span that is under way, such as one of an HTTP server's instrumentation, or the client's. */
  #parentOf({ incoming }: Caller): Context {
    const { context, propagation, trace } = this.#api;
    const active = context.active();
    return trace.getSpan(active) === undefined ? propagation.extract(active, incoming.headers) : active;
  }
}
