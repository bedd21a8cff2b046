// Where a value came from, and what is wrong with it. Loading reports every problem it can find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ron::config {

// The layers from weakest to strongest.
enum class Layer : std::uint8_t { Default, File, Environment, Flag };

// The origin of one value. `name` is the file name or the environment variable.
struct Source {
  Layer layer = Layer::Default;
  std::string name;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  // `default`, `ron.toml:12`, `ron.toml:12:5` when a column is known, `env RON_X__Y`, `flag`.
  [[nodiscard]] std::string text() const;
};

struct Problem {
  enum class Kind : std::uint8_t {
    Syntax,          // the file is not TOML, a flag is not KEY=VALUE
    UnknownKey,      // no such key or section
    WrongType,       // the value cannot be read as the key's kind
    OutOfBounds,     // outside the hard bounds
    NeedsDangerOk,   // outside the safety bounds without safety.danger_ok
    Conflict,        // valid alone, not together with another key
    BadDeclaration,  // the key is declared wrongly: a defect of the program
  };

  Kind kind = Kind::Conflict;
  std::string key;      // full path, empty when the problem is not about one key
  Source source;        // of the offending value
  std::string what;     // one plain clause; never holds a secret
  std::string allowed;  // bounds or choices, empty when there is nothing to say
  std::string nearest;  // for unknown keys: the full name that was probably meant, or empty

  // One line: `ron.toml:3: storage.max_conns: 0 is too small; allowed 1 to 65536`.
  [[nodiscard]] std::string text() const;
};

// Problems: an append-only list that stays bounded under hostile input: past kMaxKept problems are
// only counted. One thread.
class Problems {
 public:
  static constexpr std::size_t kMaxKept = 64;

  void add(Problem problem);
  // For cross-key checks: `key` relative to the group that checks.
  void add(std::string key, std::string what);

  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  [[nodiscard]] bool full() const noexcept { return kept_.size() >= kMaxKept; }
  [[nodiscard]] std::size_t count() const noexcept { return kept_.size() + dropped_; }
  [[nodiscard]] const std::vector<Problem>& list() const noexcept { return kept_; }
  [[nodiscard]] bool has(Problem::Kind kind) const noexcept;

  // One line per problem, each ended by a newline, and a last line counting what was not kept.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Problem> kept_;
  std::size_t dropped_ = 0;
};

}  // namespace ron::config
