/** The tables of a Trackio project's database, as its version of August 2026 makes and reads them. */

/** Those that an export fills; Trackio adds the others when it opens the project. */
export const trackioSchema = `
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
  config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
CREATE TABLE system_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE traces (id TEXT PRIMARY KEY, run_id TEXT NOT NULL, timestamp TEXT NOT NULL, run_name TEXT NOT NULL,
  step INTEGER NOT NULL, key TEXT NOT NULL, trace_index INTEGER, messages TEXT NOT NULL, metadata TEXT NOT NULL,
  search_text TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE project_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE alerts (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, title TEXT NOT NULL, text TEXT, level TEXT NOT NULL DEFAULT 'warn', step INTEGER,
  alert_id TEXT);
CREATE INDEX idx_metrics_run_step ON metrics(run_id, step);
CREATE INDEX idx_metrics_run_timestamp ON metrics(run_id, timestamp);
CREATE INDEX idx_configs_run_name ON configs(run_name);
CREATE INDEX idx_traces_run_step ON traces(run_id, step);
CREATE INDEX idx_traces_run_timestamp ON traces(run_id, timestamp);
`;

/** A row of metrics: run, time, name, step, JSON. */
export const insertMetrics =
  "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)";

/** A run's options: run, name, JSON, time. */
export const insertConfig = "INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)";

/** A conversation: id, run, time, name, step, key, place, messages, metadata, text to search in. */
export const insertTrace = `INSERT INTO traces
  (id, run_id, timestamp, run_name, step, key, trace_index, messages, metadata, search_text)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
