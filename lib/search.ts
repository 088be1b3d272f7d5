/** `seekrl/search`: indexes, encoders, and searches in servers, databases and the web. */

export type { TransportOptions } from "../connectors/remote/guard.ts";
export type { RetrieverProtocol } from "../connectors/remote/protocols.ts";
export { type RemoteEmbedderOptions, remoteEmbedder } from "../connectors/remote/remote-embedder.ts";
export { type RemoteSearchOptions, remoteSearch } from "../connectors/remote/remote-search.ts";
export type { KeyOptions } from "../connectors/remote/secret.ts";
export { type ShardedSearchOptions, shardedSearch } from "../connectors/remote/shards/sharded-search.ts";
export {
  type ElasticsearchImportOptions,
  type ElasticsearchOptions,
  type ElasticsearchSearchOptions,
  elasticsearchSearch,
  importToElasticsearch,
} from "../connectors/stores/elasticsearch.ts";
export type { ImportOptions, ImportProgress } from "../connectors/stores/import.ts";
export type { VectorMetric } from "../connectors/stores/passage-table.ts";
export { importToPg, type PgImportOptions } from "../connectors/stores/pg-import.ts";
export { openPgSearch, type PgSearch, type PgSearchOptions } from "../connectors/stores/pg-search.ts";
export type { PostgresOptions } from "../connectors/stores/postgres.ts";
export {
  importToQdrant,
  type QdrantImportOptions,
  type QdrantOptions,
  type QdrantSearchOptions,
  qdrantSearch,
} from "../connectors/stores/qdrant.ts";
export type { DiskCacheOptions } from "../connectors/web/disk-cache.ts";
export type { DownloadLimits } from "../connectors/web/download.ts";
export type { WebEngine } from "../connectors/web/engines.ts";
export type { HostLimits } from "../connectors/web/host-queue.ts";
export {
  type PageReaderOptions,
  pageReader,
  type ReadPages,
  type WebPage,
  withPages,
} from "../connectors/web/page-reader.ts";
export { type SummaryOptions, type Write, withSummaries } from "../connectors/web/summaries.ts";
export { type WebSearchOptions, webSearch } from "../connectors/web/web-search.ts";
export type { BatchEvent, BatchOptions } from "./search/batching/batcher.ts";
export { withBatching } from "./search/batching/batching.ts";
export type { Bm25Options } from "./search/bm25.ts";
export type { Embedder, EmbedOptions } from "./search/embed/embedder.ts";
export { Encoder, type EncoderOptions, type EncoderSettings } from "./search/embed/encoder.ts";
export { Reranker, type RerankerOptions } from "./search/embed/reranker.ts";
export type { Pooling } from "./search/embed/sentence-folder.ts";
export { type HybridOptions, hybridSearch } from "./search/hybrid.ts";
export { type BuildIndexOptions, buildIndex } from "./search/index-folder/build/build.ts";
export type { Listener } from "./search/index-folder/build/build-steps.ts";
export type { IndexProgress, IndexStage, OnIndexProgress } from "./search/index-folder/build/progress.ts";
export type { DenseOptions, SettingsOptions } from "./search/index-folder/build/settings.ts";
export type { Part } from "./search/index-folder/build-plan.ts";
export type { CopyOptions } from "./search/index-folder/change/copy.ts";
export {
  type AddOptions,
  addToIndex,
  type Removal,
  removeFromIndex,
} from "./search/index-folder/change/edit.ts";
export { mergeIndexes } from "./search/index-folder/change/merge.ts";
export { type SplitIndexOptions, splitIndex } from "./search/index-folder/change/split.ts";
export type { Corpus, Split } from "./search/index-folder/corpus.ts";
export type { EncoderChoice } from "./search/index-folder/embedders.ts";
export type { Verify } from "./search/index-folder/file-checks.ts";
export type { SearchMode } from "./search/index-folder/find.ts";
export { type IndexInfo, indexInfo, type SegmentInfo } from "./search/index-folder/info.ts";
export type { DenseSettings, IndexSettings, Manifest } from "./search/index-folder/manifest.ts";
export { type IndexSearch, type OpenIndexOptions, openIndex } from "./search/index-folder/open.ts";
export { labelledSearch } from "./search/labelled.ts";
export { type PairScorer, type RerankingOptions, withReranking } from "./search/reranking.ts";
export { askSearch, type Hit, type Search, type SearchOptions } from "./search/search.ts";
export type { GraphOptions, VectorDtype, VectorIndexKind } from "./search/vector-index.ts";
export type { Language } from "./text/analysis/languages.ts";
