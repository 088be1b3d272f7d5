/** `seekrl/search`: indexes, encoders, and searches in servers, databases and the web. */

export type { Embedder, EmbedOptions } from "./embed/embedder.ts";
export { Encoder, type EncoderOptions, type EncoderSettings } from "./embed/encoder.ts";
export { Reranker, type RerankerOptions } from "./embed/reranker.ts";
export type { Pooling } from "./embed/sentence-folder.ts";
export { type BuildIndexOptions, buildIndex } from "./index-folder/build/build.ts";
export type { Listener } from "./index-folder/build/build-steps.ts";
export type { IndexProgress, IndexStage, OnIndexProgress } from "./index-folder/build/progress.ts";
export type { DenseOptions, SettingsOptions } from "./index-folder/build/settings.ts";
export type { Part } from "./index-folder/build-plan.ts";
export type { CopyOptions } from "./index-folder/change/copy.ts";
export { type AddOptions, addToIndex, type Removal, removeFromIndex } from "./index-folder/change/edit.ts";
export { mergeIndexes } from "./index-folder/change/merge.ts";
export { type SplitIndexOptions, splitIndex } from "./index-folder/change/split.ts";
export type { Corpus, Split } from "./index-folder/corpus.ts";
export type { EncoderChoice } from "./index-folder/embedders.ts";
export type { Verify } from "./index-folder/file-checks.ts";
export type { SearchMode } from "./index-folder/find.ts";
export { type IndexInfo, indexInfo, type SegmentInfo } from "./index-folder/info.ts";
export type { DenseSettings, IndexSettings, Manifest } from "./index-folder/manifest.ts";
export { type IndexSearch, type OpenIndexOptions, openIndex } from "./index-folder/open.ts";
export type { TransportOptions } from "./remote/guard.ts";
export type { RetrieverProtocol } from "./remote/protocols.ts";
export { type RemoteEmbedderOptions, remoteEmbedder } from "./remote/remote-embedder.ts";
export { type RemoteSearchOptions, remoteSearch } from "./remote/remote-search.ts";
export type { KeyOptions } from "./remote/secret.ts";
export { type ShardedSearchOptions, shardedSearch } from "./remote/shards/sharded-search.ts";
export type { BatchEvent, BatchOptions } from "./search/batching/batcher.ts";
export { withBatching } from "./search/batching/batching.ts";
export type { Bm25Options } from "./search/bm25.ts";
export { type HybridOptions, hybridSearch } from "./search/hybrid.ts";
export { labelledSearch } from "./search/labelled.ts";
export { type PairScorer, type RerankingOptions, withReranking } from "./search/reranking.ts";
export { askSearch, type Hit, type Search, type SearchOptions } from "./search/search.ts";
export type { GraphOptions, VectorDtype, VectorIndexKind } from "./search/vector-index.ts";
export {
  type ElasticsearchImportOptions,
  type ElasticsearchOptions,
  type ElasticsearchSearchOptions,
  elasticsearchSearch,
  importToElasticsearch,
} from "./stores/elasticsearch.ts";
export type { ImportOptions, ImportProgress } from "./stores/import.ts";
export type { VectorMetric } from "./stores/passage-table.ts";
export { importToPg, type PgImportOptions } from "./stores/pg-import.ts";
export { openPgSearch, type PgSearch, type PgSearchOptions } from "./stores/pg-search.ts";
export type { PostgresOptions } from "./stores/postgres.ts";
export {
  importToQdrant,
  type QdrantImportOptions,
  type QdrantOptions,
  type QdrantSearchOptions,
  qdrantSearch,
} from "./stores/qdrant.ts";
export type { Language } from "./text/analysis/languages.ts";
export type { DiskCacheOptions } from "./web/disk-cache.ts";
export type { DownloadLimits } from "./web/download.ts";
export type { WebEngine } from "./web/engines.ts";
export type { HostLimits } from "./web/host-queue.ts";
export {
  type PageReaderOptions,
  pageReader,
  type ReadPages,
  type WebPage,
  withPages,
} from "./web/page-reader.ts";
export { type SummaryOptions, type Write, withSummaries } from "./web/summaries.ts";
export { type WebSearchOptions, webSearch } from "./web/web-search.ts";
