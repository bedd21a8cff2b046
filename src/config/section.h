// Sections ([storage] of ron.toml) and the schema of all sections a process knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/key.h"

namespace ron::config {

// One key's effective value and where it came from. `decl` belongs to a Section.
struct Entry {
  std::string key;  // full path: storage.limits.max_body_bytes
  const KeyDecl* decl = nullptr;
  Value value;
  Source source;
};

// A section without its type. Immutable; must outlive every Schema and Config that refers to it,
// which a function-local static does.
class AnySection {
 public:
  AnySection(std::string name, std::string help, std::vector<KeyDecl> decls)
      : name_(std::move(name)), help_(std::move(help)), decls_(std::move(decls)) {}
  virtual ~AnySection() = default;
  AnySection(const AnySection&) = delete;
  AnySection& operator=(const AnySection&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& help() const noexcept { return help_; }
  [[nodiscard]] const std::vector<KeyDecl>& decls() const noexcept { return decls_; }
  [[nodiscard]] std::string full(const KeyDecl& decl) const { return name_ + "." + decl.name; }

  // The section's struct from one entry per declaration, in order; runs the cross-key checks, whose
  // problems carry keys relative to the section.
  [[nodiscard]] virtual std::shared_ptr<const void> build(std::span<const Entry> entries,
                                                          Problems& problems) const = 0;

 private:
  std::string name_;
  std::string help_;
  std::vector<KeyDecl> decls_;
};

template <class T>
class Section final : public AnySection {
 public:
  Section(std::string name, std::string help, Group<T> group)
      : AnySection(std::move(name), std::move(help), decls_of(group)), group_(std::move(group)) {}

  [[nodiscard]] std::shared_ptr<const void> build(std::span<const Entry> entries,
                                                  Problems& problems) const override {
    auto built = std::make_shared<T>();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      group_.keys()[i].set(*built, entries[i].value);
    }
    for (const Check<T>& check : group_.checks()) check(*built, problems);
    return built;
  }

 private:
  static std::vector<KeyDecl> decls_of(const Group<T>& group) {
    std::vector<KeyDecl> decls;
    for (const Key<T>& key : group.keys()) decls.push_back(key.decl);
    return decls;
  }

  Group<T> group_;
};

struct SafetyConfig {
  bool danger_ok = false;
};
const Section<SafetyConfig>& safety_section();

// How a value under another spelling of a key is meant; all but Same are whole numbers.
enum class Meant : std::uint8_t {
  Same,
  Seconds,       // of a duration
  Milliseconds,  // of a duration
  OneLess,       // of a count: retries where the key counts tries
};

// Schema: the ordered list of sections; [safety] is always the first. Filled while the program
// starts, on one thread; read-only afterwards.
class Schema {
 public:
  Schema();

  Schema& add(const AnySection& section);
  // A section of a service that is not part of this process: its keys are accepted unread.
  Schema& know(std::string name);
  // Another spelling: with ("storage.storage", "storage"), storage.storage.X means storage.X in
  // every layer. Giving a key under both spellings in one layer is an error. Another spelling of a
  // single key may come with another unit.
  Schema& alias(std::string prefix, std::string target, Meant meant = Meant::Same);

  [[nodiscard]] std::span<const AnySection* const> sections() const noexcept { return sections_; }
  // Null when there is no such key.
  [[nodiscard]] const KeyDecl* find(std::string_view full_key) const;
  // The declared key this name stands for, itself or by another spelling; empty when none.
  [[nodiscard]] std::string declared(std::string_view full_key) const;
  [[nodiscard]] bool has_section(std::string_view name) const;
  [[nodiscard]] bool knows(std::string_view name) const;
  // Whether some key lies below `path` in either spelling, that is, whether `path` is a table.
  [[nodiscard]] bool is_table(std::string_view path) const;
  // The same without the other spellings of keys.
  [[nodiscard]] bool has_keys_below(std::string_view path) const;

  // The full key that was probably meant: the only key of the same section with the same last part,
  // else a near spelling. Empty when none is.
  [[nodiscard]] std::string nearest_key(std::string_view given) const;
  [[nodiscard]] std::string nearest_section(std::string_view name) const;

  struct Alias {
    std::string prefix;
    std::string target;
    Meant meant = Meant::Same;
  };
  [[nodiscard]] std::span<const Alias> aliases() const noexcept { return aliases_; }
  // What was given under `spelled`, as the declared key has it; what is wrong with it if it cannot
  // be said so.
  [[nodiscard]] std::expected<Raw, std::string> converted(std::string_view spelled, Raw raw) const;

 private:
  // `path` with an alias's prefix replaced by its target; `path` itself when none applies.
  [[nodiscard]] std::string respelled(std::string_view path) const;

  std::vector<const AnySection*> sections_;
  std::vector<std::string> elsewhere_;
  std::vector<Alias> aliases_;
  std::vector<std::string> names_;
  std::map<std::string, const KeyDecl*, std::less<>> keys_;
};

// `RON_STORAGE__LIMITS__MAX_BODY_BYTES` for `storage.limits.max_body_bytes`.
std::string environment_name(std::string_view full_key);

}  // namespace ron::config
