/** Replies as OpenTelemetry's own SDK is told of them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { metrics, propagation, SpanKind, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { Refusal } from "../../../apps/serve/http/refusal.ts";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import type { ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import { projectRoot } from "../../project.ts";
import { replaying, say, whole } from "../api/doubles.ts";
import { post } from "../doubles.ts";
import { until } from "../model/served.ts";

/** What a program registers that wants to be told; it ends with the test. */
function registered(t: TestContext) {
  const spans = new InMemorySpanExporter();
  const points = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis: 2 ** 30 });
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  );
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  t.after(async () => {
    for (const each of [trace, metrics, propagation]) each.disable();
    await reader.shutdown();
  });
  const measured = async () => {
    await reader.forceFlush();
    const all =
      points
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
  };
  return { spans, measured };
}

const passage = { id: "1", title: "Rome", text: "Rome is the capital of Italy." };
const searched: ReplyEvent[] = [
  say("I look it up.", "reasoning"),
  { type: "search", choice: 0, id: "search_1", queries: ["capital of Italy"] },
  { type: "search", choice: 0, id: "search_1", queries: ["capital of Italy"], passages: [[passage]] },
  { type: "search", choice: 0, id: "search_2", queries: ["Rome"] },
  { type: "search", choice: 0, id: "search_2", queries: ["Rome"], passages: [[]], hasFailed: true },
  say("Rome"),
];

/** What reads a prompt of the client's is a language model; agents have no text. */
const text = {} as never;

async function served(t: TestContext) {
  const models = [
    replaying(whole([say("Hi"), say(" there")]), { text }),
    replaying(whole(searched), { id: "agent/rag" }),
    replaying(
      async function* () {
        yield* [];
        throw new Refusal("too_busy", "come back later");
      },
      { id: "busy", text },
    ),
    replaying(
      async function* (_, signal) {
        yield* whole([say("Hi")]).slice(0, 2);
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      { id: "endless", text },
    ),
  ];
  const server = await serveModels({ models, port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  return server;
}

const messages = [{ role: "user", content: "Hi" }];

const namesOf = ({ attributes }: ReadableSpan): string[] => Object.keys(attributes);

test("a reply is a span with what was asked, what came and what it took, by the conventions' names", async (t) => {
  const { spans } = registered(t);
  const server = await served(t);
  const body = { model: "small", messages, temperature: 0.5, max_tokens: 9, seed: 3, stop: ["x"] };
  const { json } = await post(server, "/v1/chat/completions", body);
  const [span, more] = spans.getFinishedSpans();
  assert.deepEqual([span?.name, span?.kind, more], ["chat small", SpanKind.SERVER, undefined]);
  assert.deepEqual(span?.attributes, {
    ...{ "gen_ai.operation.name": "chat", "gen_ai.provider.name": "seekrl" },
    ...{ "gen_ai.request.model": "small", "gen_ai.response.model": "small" },
    ...{ "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 9, "gen_ai.request.seed": 3 },
    "gen_ai.request.stop_sequences": ["x"],
    "gen_ai.response.id": (json as { id: string }).id,
    "gen_ai.response.finish_reasons": ["stop"],
    ...{ "gen_ai.usage.input_tokens": 12, "gen_ai.usage.cache_read.input_tokens": 8 },
    ...{ "gen_ai.usage.output_tokens": 5, "gen_ai.usage.reasoning.output_tokens": 2 },
    ...{ "server.address": "127.0.0.1", "server.port": server.port },
  });
});

test("an agent's searches are spans within its own, and one that failed says so", async (t) => {
  const { spans } = registered(t);
  await post(await served(t), "/v1/chat/completions", { model: "agent/rag", messages, stream: true });
  const [first, second, agent] = spans.getFinishedSpans();
  assert.deepEqual(
    [agent?.name, agent?.attributes["gen_ai.agent.name"]],
    ["invoke_agent agent/rag", "agent/rag"],
  );
  for (const search of [first, second]) {
    assert.equal(search?.name, "execute_tool search");
    assert.equal(search?.parentSpanContext?.spanId, agent?.spanContext().spanId);
    assert.equal(search?.attributes["gen_ai.operation.name"], "execute_tool");
  }
  assert.equal(first?.attributes["gen_ai.tool.call.id"], "search_1");
  assert.deepEqual([first?.status.code, second?.status.code], [0, 2]);
  assert.equal(second?.attributes["error.type"], "search_failed");
});

test("every name is one of the conventions", async (t) => {
  const { spans, measured } = registered(t);
  const server = await served(t);
  for (const model of ["small", "agent/rag", "busy"]) {
    await post(server, "/v1/chat/completions", { model, messages, top_p: 0.9, top_k: 3, n: 2 });
  }
  const known = new Set<unknown>(Object.values(conventions));
  const used = [...spans.getFinishedSpans().flatMap(namesOf), ...(await measured()).keys()];
  assert.deepEqual(
    [...new Set(used)].filter((name) => !known.has(name)),
    [],
  );
});

test("a span belongs to the trace that the request names", async (t) => {
  const { spans } = registered(t);
  const [traceId, spanId] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  const headers = { traceparent: `00-${traceId}-${spanId}-01` };
  await post(await served(t), "/v1/chat/completions", { messages }, { headers });
  const [span] = spans.getFinishedSpans();
  assert.deepEqual([span?.spanContext().traceId, span?.parentSpanContext?.spanId], [traceId, spanId]);
});

test("what fails, and what its client leaves, has its reason", async (t) => {
  const { spans, measured } = registered(t);
  const server = await served(t);
  assert.equal((await post(server, "/v1/chat/completions", { model: "busy", messages })).status, 429);
  const leave = new AbortController();
  const body = JSON.stringify({ model: "endless", messages, stream: true });
  const url = `${server.url}/v1/chat/completions`;
  const { body: stream } = await fetch(url, { method: "POST", body, signal: leave.signal });
  await stream?.getReader().read();
  leave.abort();
  await until(() => spans.getFinishedSpans().length === 2);
  assert.deepEqual(
    spans.getFinishedSpans().map(({ attributes, status }) => [attributes["error.type"], status.code]),
    [
      ["too_busy", 2],
      ["client_gone", 2],
    ],
  );
  const names = [...(await measured()).keys()];
  assert.deepEqual(names, ["gen_ai.server.request.duration"]);
});

test("times of replies are histograms, by model and operation", async (t) => {
  const { measured } = registered(t);
  const server = await served(t);
  await post(server, "/v1/chat/completions", { model: "small", messages });
  await post(server, "/v1/chat/completions", { model: "small", messages, stream: true });
  const points = await measured();
  const all = ["request.duration", "time_to_first_token", "time_per_output_token"];
  assert.deepEqual([...points.keys()].sort(), all.map((name) => `gen_ai.server.${name}`).sort());
  for (const [name, [point, more]] of points) {
    const value = point?.value as { count: number; max: number } | undefined;
    assert.deepEqual([value?.count, more], [2, undefined], name);
    assert.ok((value?.max ?? -1) >= 0, name);
    const { "gen_ai.request.model": model, "gen_ai.operation.name": operation } = point?.attributes ?? {};
    assert.deepEqual([model, operation], ["small", "chat"]);
  }
});

test("where the API is not installed, replies are as ever", () => {
  const hooks = `export async function resolve(name, context, next) {
    if (name !== "@opentelemetry/api") return next(name, context);
    throw Object.assign(new Error("none"), { code: "ERR_MODULE_NOT_FOUND" });
  }`;
  const at = (path: string): string => JSON.stringify(new URL(`../../../${path}`, import.meta.url));
  const program = `
    import { register } from "node:module";
    register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(hooks))});
    const { serveModels } = await import(${at("apps/serve/model/model-server.js")});
    const { replaying, say, whole } = await import(${at("test/serve/api/doubles.js")});
    const server = await serveModels({ models: [replaying(whole([say("Hi")]))], port: 0 });
    const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] });
    const answer = await fetch(server.url + "/v1/chat/completions", { method: "POST", body });
    console.log((await answer.json()).choices[0].message.content);
    await server.close({ graceMs: 0 });`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: join(projectRoot), encoding: "utf8" });
  assert.equal(stdout, "Hi\n", stderr);
});
