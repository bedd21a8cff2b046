#include "http/decode_guard.h"

#include <algorithm>
#include <string>

#include "http/field_list.h"

namespace ron::http {

using base::ByteView;
using base::Code;
using base::Error;
using base::Result;

Checked<Coding> parse_content_coding(std::string_view value) noexcept {
  std::string_view only;
  ListReader codings(value);
  while (const auto coding = codings.next()) {
    if (coding->empty()) continue;
    if (!only.empty()) {
      return refuse(Code::DecodedCap, "nested content codings are not decoded; send one at most");
    }
    only = *coding;
  }
  if (only.empty() || iequals(only, "identity")) return Coding::Identity;
  if (iequals(only, "x-gzip")) return Coding::Gzip;
  for (const Coding each : {Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd}) {
    if (iequals(only, coding_name(each))) return each;
  }
  return refuse(Code::UnsupportedMedia, "the content coding is not gzip, deflate, br or zstd");
}

Checked<Coding> content_coding(const FieldTable& fields) noexcept {
  if (fields.repeated(KnownField::ContentEncoding)) {
    return refuse(Code::DecodedCap, "nested content codings are not decoded; send one at most");
  }
  return parse_content_coding(fields.get(KnownField::ContentEncoding).value_or(""));
}

DecodeGuard::DecodeGuard(Coding coding, DecodeLimits limits)
    : coding_(coding), limits_(limits), decoder_(make_decoder(coding, limits.cap_bytes)) {
  limits_.ratio_max = std::max<std::uint64_t>(limits_.ratio_max, 1);
  if (decoder_) piece_ = std::make_unique_for_overwrite<std::byte[]>(kPieceBytes);
}

std::unexpected<Error> DecodeGuard::give_up(Error error) {
  failure_ = std::make_unique<Error>(std::move(error));
  decoder_.reset();
  piece_.reset();
  return base::fail(*failure_);
}

Result<> DecodeGuard::check_limits() {
  if (decoded_bytes_ > limits_.cap_bytes) {
    return give_up(Error(Code::DecodedCap, "the decoded body is larger than the limit")
                       .with("decoded_cap_bytes", std::to_string(limits_.cap_bytes)));
  }
  if (coding_ == Coding::Identity || decoded_bytes_ <= kRatioFreeBytes ||
      (decoded_bytes_ - 1) / limits_.ratio_max < encoded_bytes_) {
    return {};
  }
  const std::uint64_t ratio = decoded_bytes_ / std::max<std::uint64_t>(encoded_bytes_, 1);
  return give_up(Error(Code::DecodedRatio, "the body expands more than the allowed ratio")
                     .with("ratio", std::to_string(ratio))
                     .with("ratio_max", std::to_string(limits_.ratio_max))
                     .with("encoded_bytes", std::to_string(encoded_bytes_))
                     .with("decoded_bytes", std::to_string(decoded_bytes_)));
}

Result<ByteView> DecodeGuard::pass(ByteView& in) {
  const ByteView piece = in.first(std::min(in.size(), kPieceBytes));
  in = in.subspan(piece.size());
  encoded_bytes_ += piece.size();
  decoded_bytes_ += piece.size();
  if (auto within = check_limits(); !within) return base::fail(within.error());
  return piece;
}

Result<ByteView> DecodeGuard::next(ByteView& in) {
  if (failure_) return base::fail(*failure_);
  if (coding_ == Coding::Identity) return pass(in);
  if (!decoder_) return give_up(Error(Code::Busy, "no memory for a decoder"));
  while (more_output_ || !in.empty()) {
    const auto run = decoder_->run(in, {piece_.get(), kPieceBytes});
    if (!run) return give_up(run.error().error());
    const bool stuck = run->consumed == 0 && run->produced == 0 && !in.empty();
    if (stuck) return give_up(Error(Code::Malformed, "the encoded body makes no progress"));
    in = in.subspan(run->consumed);
    encoded_bytes_ += run->consumed;
    decoded_bytes_ += run->produced;
    more_output_ = run->produced == kPieceBytes;
    if (auto within = check_limits(); !within) return base::fail(within.error());
    if (run->produced > 0) return ByteView(piece_.get(), run->produced);
  }
  return ByteView{};
}

Result<> DecodeGuard::finish() {
  if (failure_) return base::fail(*failure_);
  if (coding_ == Coding::Identity) return {};
  if (!decoder_ || !decoder_->complete()) {
    return give_up(Error(Code::Malformed, "the encoded body ends too early"));
  }
  return {};
}

}  // namespace ron::http
