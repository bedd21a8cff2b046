#include "http/codecs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace ron::http {
namespace {

using base::ByteView;
using base::Code;
using base::MutableBytes;

constexpr std::string_view kCorrupt = "the body is not valid in its content coding";
constexpr std::string_view kTrailing = "bytes behind the end of the encoded body";
constexpr std::string_view kTooMuchMemory = "decoding the body needs a larger window than allowed";

// gzip (any number of members, RFC 1952 §2.2) and zlib-wrapped deflate. Raw deflate is refused: it
// has neither a header nor a checksum to tell it from noise.
class ZlibDecoder final : public StreamDecoder {
 public:
  explicit ZlibDecoder(bool gzip) noexcept : gzip_(gzip) {
    constexpr int kGzipHeader = 16;
    ready_ = inflateInit2(&stream_, MAX_WBITS + (gzip ? kGzipHeader : 0)) == Z_OK;
  }
  ZlibDecoder(const ZlibDecoder&) = delete;
  ZlibDecoder& operator=(const ZlibDecoder&) = delete;
  ~ZlibDecoder() override {
    if (ready_) inflateEnd(&stream_);
  }

  [[nodiscard]] bool ready() const noexcept { return ready_; }

  Checked<Run> run(ByteView in, MutableBytes out) noexcept override {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    Run total;
    while (true) {
      const std::size_t offered = std::min(in.size() - total.consumed, kMost);
      const std::size_t room = std::min(out.size() - total.produced, kMost);
      if (ended_ && offered > 0) {
        if (!gzip_) return malformed(kTrailing);
        if (inflateReset(&stream_) != Z_OK) return malformed(kCorrupt);
        ended_ = false;
      }
      if (ended_ || room == 0) return total;
      stream_.next_in =
          reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data())) + total.consumed;
      stream_.avail_in = static_cast<uInt>(offered);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data()) + total.produced;
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t consumed = offered - stream_.avail_in;
      const std::size_t produced = room - stream_.avail_out;
      total.consumed += consumed;
      total.produced += produced;
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status == Z_MEM_ERROR) {
        return refuse(Code::DecodedCap, kTooMuchMemory);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return malformed(kCorrupt);
      } else if (consumed == 0 && produced == 0) {
        return total;
      }
    }
  }

  [[nodiscard]] bool complete() const noexcept override { return ended_; }

 private:
  z_stream stream_{};
  bool gzip_;
  bool ready_ = false;
  bool ended_ = false;
};

// Memory for one brotli decoder: malloc with a budget, so that a header of a few bytes cannot
// reserve a window that the accepted output could never use.
class Budget {
 public:
  explicit Budget(std::size_t bytes) noexcept : left_(bytes) {}

  static void* take(void* self, std::size_t bytes) noexcept {
    auto& budget = *static_cast<Budget*>(self);
    if (bytes > budget.left_) return nullptr;
    auto* block = static_cast<std::byte*>(std::malloc(bytes + kHeader));
    if (block == nullptr) return nullptr;
    budget.left_ -= bytes;
    std::memcpy(block, &bytes, sizeof bytes);
    return block + kHeader;
  }

  static void give(void* self, void* address) noexcept {
    if (address == nullptr) return;
    auto* block = static_cast<std::byte*>(address) - kHeader;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    static_cast<Budget*>(self)->left_ += bytes;
    std::free(block);
  }

 private:
  // Remembers the size and keeps malloc's alignment.
  static constexpr std::size_t kHeader = alignof(std::max_align_t);
  static_assert(kHeader >= sizeof(std::size_t));

  std::size_t left_;
};

class BrotliDecoder final : public StreamDecoder {
 public:
  // The ring buffer is a power of two that covers the output, at most twice the cap, and while it
  // grows the old half is still there.
  explicit BrotliDecoder(std::uint64_t cap_bytes) noexcept
      : budget_(brotli_bytes(cap_bytes)),
        state_(BrotliDecoderCreateInstance(&Budget::take, &Budget::give, &budget_)) {}
  BrotliDecoder(const BrotliDecoder&) = delete;
  BrotliDecoder& operator=(const BrotliDecoder&) = delete;
  ~BrotliDecoder() override {
    if (state_ != nullptr) BrotliDecoderDestroyInstance(state_);
  }

  [[nodiscard]] bool ready() const noexcept { return state_ != nullptr; }

  Checked<Run> run(ByteView in, MutableBytes out) noexcept override {
    if (complete()) {
      if (!in.empty()) return malformed(kTrailing);
      return Run{};
    }
    std::size_t left_in = in.size();
    std::size_t left_out = out.size();
    auto* next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
    const auto result =
        BrotliDecoderDecompressStream(state_, &left_in, &next_in, &left_out, &next_out, nullptr);
    if (result == BROTLI_DECODER_RESULT_ERROR) return std::unexpected(why());
    if (result == BROTLI_DECODER_RESULT_SUCCESS && left_in > 0) return malformed(kTrailing);
    return Run{in.size() - left_in, out.size() - left_out};
  }

  [[nodiscard]] bool complete() const noexcept override {
    return BrotliDecoderIsFinished(state_) != BROTLI_FALSE;
  }

 private:
  [[nodiscard]] Refusal why() const noexcept {
    const auto code = BrotliDecoderGetErrorCode(state_);
    const bool memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                        code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    if (memory) return {Code::DecodedCap, kTooMuchMemory};
    return {Code::Malformed, kCorrupt};
  }

  Budget budget_;
  BrotliDecoderState* state_;
};

// Lets only frames of today's format and skippable frames begin. The library also reads formats
// older than 0.8, whose decoders do not honour the window limit.
class ZstdMagic {
 public:
  void restart() noexcept { seen_ = 0; }

  [[nodiscard]] bool accept(ByteView in) noexcept {
    constexpr std::uint8_t kFrame[] = {0x28, 0xb5, 0x2f, 0xfd};
    constexpr std::uint8_t kSkippable[] = {0x50, 0x2a, 0x4d, 0x18};
    for (std::size_t i = 0; i < in.size() && seen_ < sizeof kFrame; ++i, ++seen_) {
      auto byte = static_cast<std::uint8_t>(in[i]);
      if (seen_ == 0) {
        skippable_ = byte != kFrame[0];
        if (skippable_) byte &= 0xf0;
      }
      if (byte != (skippable_ ? kSkippable : kFrame)[seen_]) return false;
    }
    return true;
  }

 private:
  std::size_t seen_ = 0;
  bool skippable_ = false;
};

class ZstdDecoder final : public StreamDecoder {
 public:
  ZstdDecoder() noexcept : context_(ZSTD_createDCtx()) {
    ready_ = context_ != nullptr && ZSTD_isError(ZSTD_DCtx_setParameter(
                                        context_, ZSTD_d_windowLogMax, kZstdWindowLog)) == 0;
  }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

  [[nodiscard]] bool ready() const noexcept { return ready_; }

  Checked<Run> run(ByteView in, MutableBytes out) noexcept override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos < output.size) {
      const bool starved = input.pos == input.size;
      if (starved && (frame_ended_ || !begun_)) break;
      if (frame_ended_) magic_.restart();
      if (!magic_.accept(in.subspan(input.pos))) return malformed(kCorrupt);
      begun_ = true;
      const std::size_t before = input.pos + output.pos;
      const std::size_t hint = ZSTD_decompressStream(context_, &output, &input);
      if (ZSTD_isError(hint) != 0) return std::unexpected(why(hint));
      frame_ended_ = hint == 0;
      if (input.pos + output.pos == before) break;
    }
    return Run{input.pos, output.pos};
  }

  [[nodiscard]] bool complete() const noexcept override { return frame_ended_; }

 private:
  static Refusal why(std::size_t failure) noexcept {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(failure);
    if (code == ZSTD_error_frameParameter_windowTooLarge || code == ZSTD_error_memory_allocation) {
      return {Code::DecodedCap, kTooMuchMemory};
    }
    return {Code::Malformed, kCorrupt};
  }

  ZSTD_DCtx* context_;
  ZstdMagic magic_;
  bool ready_ = false;
  bool begun_ = false;
  bool frame_ended_ = false;
};

template <class Decoder, class... Arguments>
std::unique_ptr<StreamDecoder> make(Arguments... arguments) {
  auto decoder = std::make_unique<Decoder>(arguments...);
  if (!decoder->ready()) return nullptr;
  return decoder;
}

}  // namespace

std::string_view coding_name(Coding coding) noexcept {
  switch (coding) {
    case Coding::Identity:
      return "identity";
    case Coding::Gzip:
      return "gzip";
    case Coding::Deflate:
      return "deflate";
    case Coding::Brotli:
      return "br";
    case Coding::Zstd:
      return "zstd";
  }
  std::unreachable();
}

std::unique_ptr<StreamDecoder> make_decoder(Coding coding, std::uint64_t cap_bytes) {
  switch (coding) {
    case Coding::Identity:
      return nullptr;
    case Coding::Gzip:
      return make<ZlibDecoder>(true);
    case Coding::Deflate:
      return make<ZlibDecoder>(false);
    case Coding::Brotli:
      return make<BrotliDecoder>(cap_bytes);
    case Coding::Zstd:
      return make<ZstdDecoder>();
  }
  std::unreachable();
}

}  // namespace ron::http
