// Search for JavaScript, see lib/base/addon.
#pragma once

#include <napi.h>

namespace seekrl::node {

void export_vectors(Napi::Env env, Napi::Object exports);
void export_vector_gpus(Napi::Env env, Napi::Object exports);
void export_lexicon(Napi::Env env, Napi::Object exports);
void export_bm25(Napi::Env env, Napi::Object exports);
void export_corpus(Napi::Env env, Napi::Object exports);
void export_passages(Napi::Env env, Napi::Object exports);
void export_folders(Napi::Env env, Napi::Object exports);
void export_embedder(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
