#include "services/index/manifest_reader.h"

#include <string>
#include <utility>

#include "catalog/manifest.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

namespace {

constexpr platform::BlockingKind kSummarizeManifest{"summarize_manifest", std::chrono::seconds(60)};

}  // namespace

Task<Result<std::optional<ManifestFacts>>> read_manifest(storage_api::StorageApi* storage,
                                                         platform::BlockingPool* blocking,
                                                         base::ObjectId address,
                                                         runtime::Deadline deadline) {
  auto stream = co_await storage->open(address, std::nullopt, deadline);
  if (!stream && stream.error().code == Code::NotFound) co_return std::nullopt;
  if (!stream) co_return fail(std::move(stream.error()));
  if (stream->object_length > kMostManifestBytes) co_return std::nullopt;
  std::string text;
  text.reserve(stream->object_length);
  for (;;) {
    const auto piece = co_await stream->body->next();
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) break;
    text += base::as_text(*piece);
  }
  auto done = co_await blocking->run(kSummarizeManifest,
                                     [text = std::move(text)](const base::StopToken& stop) {
                                       return catalog::summarize_manifest(text, stop);
                                     });
  if (!done) co_return fail(std::move(done.error()));
  if (!*done && done->error().code != Code::Malformed) co_return fail(std::move(done->error()));
  if (!*done) {
    co_return fail(Code::Malformed, "the target is no manifest: " + done->error().message);
  }
  co_return ManifestFacts{(*done)->entries, (*done)->length};
}

}  // namespace ron::index
