/** The studio's requests, one function each, with the types that page and server share. */
import type * as api from "../../apps/studio/api.ts";
import { askEvents, askJson } from "./http.ts";

const root: api.ApiRoot = "/api/studio";

type Query = Readonly<Record<string, string | number | undefined>>;

const get = <Answer>(path: string, signal?: AbortSignal, query?: object): Promise<Answer> =>
  askJson<Answer>(`${root}${path}`, { signal, query: query as Query | undefined });

const post = <Answer>(path: string, body: unknown, signal?: AbortSignal): Promise<Answer> =>
  askJson<Answer>(`${root}${path}`, { body, signal });

const at = encodeURIComponent;

export const getStudio = (signal?: AbortSignal): Promise<api.Studio> => get("", signal);

export const getRuns = (signal?: AbortSignal): Promise<api.RunList> => get("/runs", signal);

export const getRun = (run: string, signal?: AbortSignal): Promise<api.RunDetail> =>
  get(`/runs/${at(run)}`, signal);

export const getMetrics = (
  run: string,
  query: api.MetricsQuery,
  signal?: AbortSignal,
): Promise<api.MetricsPage> => get(`/runs/${at(run)}/metrics`, signal, query);

export const getTrajectories = (
  run: string,
  query: api.TrajectoryQuery,
  signal?: AbortSignal,
): Promise<api.TrajectoryPage> => get(`/runs/${at(run)}/trajectories`, signal, query);

export const getTrajectory = (
  run: string,
  row: number,
  signal?: AbortSignal,
): Promise<api.TrajectoryDetail> => get(`/runs/${at(run)}/trajectories/${row}`, signal);

export const getGroup = (run: string, row: number, signal?: AbortSignal): Promise<api.TrajectoryGroup> =>
  get(`/runs/${at(run)}/trajectories/${row}/group`, signal);

export const getOutput = (run: string, after: number, signal?: AbortSignal): Promise<api.RunOutput> =>
  get(`/runs/${at(run)}/output`, signal, { after });

export const stopRun = (run: string): Promise<api.ControlResult> => post(`/runs/${at(run)}/stop`, {});

export const resumeRun = (run: string): Promise<api.ControlResult> => post(`/runs/${at(run)}/resume`, {});

export const getEvaluations = (signal?: AbortSignal): Promise<api.EvaluationList> =>
  get("/evaluations", signal);

export const getEvaluation = (evaluation: string, signal?: AbortSignal): Promise<api.EvaluationDetail> =>
  get(`/evaluations/${at(evaluation)}`, signal);

export const getQuestions = (
  evaluation: string,
  query: api.QuestionQuery,
  signal?: AbortSignal,
): Promise<api.QuestionPage> => get(`/evaluations/${at(evaluation)}/questions`, signal, query);

export const getQuestion = (
  evaluation: string,
  row: number,
  signal?: AbortSignal,
): Promise<api.QuestionDetail> => get(`/evaluations/${at(evaluation)}/questions/${row}`, signal);

/** Two evaluations that are compared. */
export interface Pair {
  readonly first: string;
  readonly second: string;
}

export const getComparison = (pair: Pair, signal?: AbortSignal): Promise<api.EvaluationComparison> =>
  get("/comparison", signal, pair);

export const getComparisonQuestions = (
  pair: Pair,
  query: api.ComparisonQuery,
  signal?: AbortSignal,
): Promise<api.ComparisonPage> => get("/comparison/questions", signal, { ...pair, ...query });

export const getIndex = (signal?: AbortSignal): Promise<api.IndexDescription> => get("/index", signal);

export const searchIndex = (
  request: api.IndexSearchRequest,
  signal?: AbortSignal,
): Promise<api.IndexSearchResult> => post("/index/search", request, signal);

export const getReport = (signal?: AbortSignal): Promise<api.CorpusSummary> => get("/index/report", signal);

/** A run's events from a row of its metrics on, until the signal fires. @throws Refused */
export async function* runEvents(
  run: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<api.RunEvent> {
  const path = `${root}/runs/${at(run)}/events`;
  for await (const { data } of askEvents(path, { query: { after }, signal }))
    yield JSON.parse(data) as api.RunEvent;
}
