/**
 * What the studio's page and its server say to each other: the types of every request and answer, and nothing else.
 *
 * {@link ApiRoot} stands before every path: `GET /api/studio/runs`. Answers are JSON unless a line says otherwise. A refusal is
 * `{"error": {"message", "type", "param", "code"}}` with its status, as OpenAI words it.
 *
 * | request | answer | what it is |
 * |---|---|---|
 * | `GET` of the root itself | {@link Studio} | what there is; 401 when a key is missing: ask for it |
 * | `GET /runs` | {@link RunList} | every run below the folders that the studio was started with |
 * | `GET /runs/:run` | {@link RunDetail} | one run, its configuration, what its guard would say |
 * | `GET /runs/:run/metrics?`{@link MetricsQuery} | {@link MetricsPage} | curves, cut down to a number of points |
 * | `GET /runs/:run/events?after=N` | server-sent {@link RunEvent}s | a run while it goes on |
 * | `GET /runs/:run/trajectories?`{@link TrajectoryQuery} | {@link TrajectoryPage} | a page of a filtered, sorted list |
 * | `GET /runs/:run/trajectories/:row` | {@link TrajectoryDetail} | one of them, token by token |
 * | `GET /runs/:run/trajectories/:row/group` | {@link TrajectoryGroup} | all samples of its question at its step |
 * | `GET /runs/:run/output?after=BYTE` | {@link RunOutput} | what a run that was started from the page printed |
 * | `POST /runs/:run/stop`, body `{}` | {@link ControlResult} | as Ctrl-C does |
 * | `POST /runs/:run/resume`, body `{}` | {@link ControlResult} | starts its command again |
 * | `GET /diff?first=RUN&second=RUN` | {@link ConfigDiff} | options that differ between two runs |
 * | `GET /evaluations` | {@link EvaluationList} | every file of results |
 * | `GET /evaluations/:evaluation` | {@link EvaluationDetail} | its figures with intervals |
 * | `GET /evaluations/:evaluation/questions?`{@link QuestionQuery} | {@link QuestionPage} | question by question |
 * | `GET /evaluations/:evaluation/questions/:row` | {@link QuestionDetail} | one question and its conversation |
 * | `GET /comparison?first=EVALUATION&second=EVALUATION` | {@link EvaluationComparison} | how far two are apart |
 * | `GET /comparison/questions?first=&second=&`{@link ComparisonQuery} | {@link ComparisonPage} | question by question, side by side |
 * | `GET /index` | {@link IndexDescription} | the index that `--index` opened |
 * | `POST /index/search`, body {@link IndexSearchRequest} | {@link IndexSearchResult} | hits, and why each ranks |
 * | `GET /index/report` | {@link CorpusSummary} | counts over its passages; takes as long as reading them |
 *
 * The key goes into `Authorization: Bearer KEY`. `EventSource` cannot send one, so events are read with `fetch` and its
 * stream. A `POST` needs `Content-Type: application/json`, so that no page of another site can send it. Ids of runs and
 * evaluations are letters, digits, `-`, `_` and `.`, and stay the same as long as the folder does.
 *
 * Chat is not here: where {@link Capabilities.serve} is true, the model server's own `/v1/...` stand on the same origin.
 */

export type * from "./api/evaluations.ts";
export type * from "./api/runs.ts";
export type * from "./api/search.ts";
export type * from "./api/trajectories.ts";

/** What every path begins with. */
export type ApiRoot = "/api/studio";

/** What a studio can do. */
interface Capabilities {
  /** A model server answers on the same origin: `GET /v1/models` lists what can be talked to. */
  readonly serve: boolean;
  /** Feedback of a conversation is taken at `POST /v1/feedback`. */
  readonly feedback: boolean;
  /** An index is open. */
  readonly index: boolean;
  /** Runs can be stopped and resumed: the studio has a key, or answers this machine alone. */
  readonly control: boolean;
}

/** `GET /api/studio`. */
export interface Studio {
  /** Of the package. */
  readonly version: string;
  readonly capabilities: Capabilities;
  /** The run that this very process trains now (`train --studio`, `demo --studio`); the page opens it first. */
  readonly liveRun: string | null;
  /** Folders that were named on the command line. */
  readonly roots: readonly string[];
}
