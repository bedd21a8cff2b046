// Chunks: takes the chunked transfer coding off a body, and puts it on. Written apart from
// src/http, as the rest of the clients and servers of a simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ron::sim {

// For one body.
class Chunks {
 public:
  enum class State : std::uint8_t { More, Done, Bad };

  // Takes what it can from the front of `arrived`, and adds what the chunks hold to `body`.
  State feed(std::string& arrived, std::string& body);

 private:
  enum class Step : std::uint8_t { Size, Data, DataEnd, LastLine };
  Step step_ = Step::Size;
  std::size_t left_ = 0;  // of the chunk
};

// `1f\r\n`: what comes before a chunk of so many bytes.
std::string chunk_size_line(std::size_t bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace ron::sim
