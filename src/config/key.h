// Configuration keys, declared once: a declaration carries name, type, default, bounds, text and
// reload class; a binding says which member of a plain struct receives the value. Loading, reload,
// `ron config show`, the reference page and the sample file are all derived from it.
//
//   struct ServerConfig { std::uint64_t max_rps; base::Duration read_timeout; };
//   Group<ServerConfig> server_keys() {
//     return {count_key("server.max_rps", &ServerConfig::max_rps, "500", {.min = "1"}, Reload::Hot,
//                       "requests per second before 429"), ...};
//   }
//   struct StorageConfig { ServerConfig server; base::Size max_body; };
//   Group<StorageConfig> keys{size_key("limits.max_body_bytes", &StorageConfig::max_body, ...)};
//   keys.include(&StorageConfig::server, server_keys());
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/problem.h"
#include "config/value.h"

namespace ron::config {

enum class Kind : std::uint8_t {
  Bool,
  Count,
  Number,
  Size,
  Duration,
  Rate,
  Text,
  TextList,
  Address,
  Choice,
  CountMap,
  Records,
};
// `count`, `size`, `one of`...: the word used in messages and in the reference page.
std::string_view kind_name(Kind kind) noexcept;

// What a change of the key needs while the process runs.
enum class Reload : std::uint8_t {
  Hot,      // the next request sees it
  Rebind,   // listeners are opened anew, connections drain
  Restart,  // a reload that changes it is refused
};
std::string_view reload_name(Reload reload) noexcept;

// The optional part of a declaration. Bounds are inclusive and written like values of the key; for
// text they count bytes, for lists and records items, for count maps they hold for every count.
// Beyond the safety bounds a value is accepted only with safety.danger_ok = true.
struct KeyOptions {
  std::string min = {};
  std::string max = {};
  std::string safe_min = {};
  std::string safe_max = {};
  std::string unit = {};     // what is counted, for example "requests per second"
  bool secret = false;       // never printed; its default must be empty
  bool allow_empty = false;  // an address may be left empty, meaning "not set"
  bool required = false;     // a field of a record that has no default
};

struct KeyDecl {
  std::string name;  // relative to its section: limits.max_body_bytes
  Kind kind = Kind::Text;
  std::string default_text;
  KeyOptions options;
  Reload reload = Reload::Restart;
  std::string help;                      // one line
  std::vector<std::string> choices;      // Kind::Choice
  std::vector<KeyDecl> fields;           // Kind::Records
  std::uint64_t member_max = INT64_MAX;  // Kind::Count: what the bound member can hold
};

// Copies `inner` to `outer` with `prefix` before every key.
void append_under(std::string_view prefix, const Problems& inner, Problems& outer);

// A cross-key check: adds a problem, keys relative to T, when valid values do not go together.
template <class T>
using Check = std::function<void(const T&, Problems&)>;

// A declaration bound to a member of T. Immutable after construction, shared freely.
template <class T>
struct Key {
  KeyDecl decl;
  std::function<void(T&, const Value&)> set;  // the value has the kind's alternative
  Check<T> check;                             // may be empty
};

// Group: the keys and checks of one plain struct; groups nest through member structs. Built while
// the program starts, on one thread; read-only afterwards.
template <class T>
class Group {
 public:
  Group() = default;
  Group(std::initializer_list<Key<T>> keys) {
    for (const Key<T>& key : keys) add(key);
  }

  Group& add(Key<T> key) {
    if (key.check) checks_.push_back(key.check);
    keys_.push_back(std::move(key));
    return *this;
  }

  Group& check(Check<T> check) {
    checks_.push_back(std::move(check));
    return *this;
  }

  // Appends the keys of a nested struct; `prefix` ("retry.") goes before their names.
  template <class Member>
  Group& include(Member T::* member, const Group<Member>& group, const std::string& prefix = "") {
    for (const Key<Member>& inner : group.keys()) {
      KeyDecl decl = inner.decl;
      decl.name = prefix + decl.name;
      keys_.push_back(
          {std::move(decl),
           [member, set = inner.set](T& owner, const Value& value) { set(owner.*member, value); },
           {}});
    }
    for (const Check<Member>& inner : group.checks()) {
      checks_.push_back([member, prefix, inner](const T& owner, Problems& problems) {
        Problems found;
        inner(owner.*member, found);
        append_under(prefix, found, problems);
      });
    }
    return *this;
  }

  // Appends the keys of a struct that T is derived from.
  template <class Base>
    requires std::derived_from<T, Base>
  Group& include(const Group<Base>& group) {
    for (const Key<Base>& inner : group.keys()) {
      keys_.push_back(
          {inner.decl, [set = inner.set](T& owner, const Value& value) { set(owner, value); }, {}});
    }
    for (const Check<Base>& inner : group.checks()) {
      checks_.push_back([inner](const T& owner, Problems& problems) { inner(owner, problems); });
    }
    return *this;
  }

  // Another default for a key of a shared group, and another bound of what is safe if there is one;
  // throws std::logic_error if there is no such key.
  Group& with_default(std::string_view name, std::string default_text,
                      std::optional<std::string> safe_max = std::nullopt) {
    const auto key = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const Key<T>& k) { return k.decl.name == name; });
    if (key == keys_.end()) throw std::logic_error("no key " + std::string(name));
    key->decl.default_text = std::move(default_text);
    if (safe_max) key->decl.options.safe_max = std::move(*safe_max);
    return *this;
  }

  [[nodiscard]] const std::vector<Key<T>>& keys() const noexcept { return keys_; }
  [[nodiscard]] const std::vector<Check<T>>& checks() const noexcept { return checks_; }

 private:
  std::vector<Key<T>> keys_;
  std::vector<Check<T>> checks_;
};

namespace detail {

inline KeyDecl declare(Kind kind, std::string name, std::string default_text, KeyOptions options,
                       Reload reload, std::string help) {
  KeyDecl decl;
  decl.name = std::move(name);
  decl.kind = kind;
  decl.default_text = std::move(default_text);
  decl.options = std::move(options);
  decl.reload = reload;
  decl.help = std::move(help);
  return decl;
}

template <class T, class M>
Key<T> plain_key(KeyDecl decl, M T::* member) {
  return {std::move(decl),
          [member](T& owner, const Value& value) { owner.*member = value.as<M>(); },
          {}};
}

}  // namespace detail

// Every key function takes: name, member, default as text, options, reload class, one-line help.
#define RON_CONFIG_KEY(function, kind, Member)                                               \
  template <class T>                                                                         \
  Key<T> function(std::string name, Member T::* member, std::string default_text,            \
                  KeyOptions options, Reload reload, std::string help) {                     \
    return detail::plain_key(detail::declare(kind, std::move(name), std::move(default_text), \
                                             std::move(options), reload, std::move(help)),   \
                             member);                                                        \
  }
RON_CONFIG_KEY(bool_key, Kind::Bool, bool)
RON_CONFIG_KEY(number_key, Kind::Number, double)
RON_CONFIG_KEY(size_key, Kind::Size, base::Size)
RON_CONFIG_KEY(duration_key, Kind::Duration, base::Duration)
RON_CONFIG_KEY(rate_key, Kind::Rate, base::Rate)
RON_CONFIG_KEY(text_key, Kind::Text, std::string)
RON_CONFIG_KEY(text_list_key, Kind::TextList, TextList)
RON_CONFIG_KEY(address_key, Kind::Address, Address)
RON_CONFIG_KEY(count_map_key, Kind::CountMap, CountMap)
#undef RON_CONFIG_KEY

// Any unsigned member; values it cannot hold are refused like any other bound.
template <class T, std::unsigned_integral M>
Key<T> count_key(std::string name, M T::* member, std::string default_text, KeyOptions options,
                 Reload reload, std::string help) {
  KeyDecl decl = detail::declare(Kind::Count, std::move(name), std::move(default_text),
                                 std::move(options), reload, std::move(help));
  decl.member_max = std::min(decl.member_max, std::uint64_t{std::numeric_limits<M>::max()});
  return {std::move(decl),
          [member](T& owner, const Value& value) {
            owner.*member = static_cast<M>(value.as<std::uint64_t>());
          },
          {}};
}

// A C++ enum by name: {{"json", LogFormat::Json}, {"text", LogFormat::Text}}.
template <class T, class E>
Key<T> choice_key(std::string name, E T::* member, std::string default_text,
                  std::vector<std::pair<std::string, std::type_identity_t<E>>> choices,
                  KeyOptions options, Reload reload, std::string help) {
  KeyDecl decl = detail::declare(Kind::Choice, std::move(name), std::move(default_text),
                                 std::move(options), reload, std::move(help));
  for (const auto& choice : choices) decl.choices.push_back(choice.first);
  return {std::move(decl),
          [member, choices = std::move(choices)](T& owner, const Value& value) {
            for (const auto& choice : choices) {
              if (choice.first == value.as<std::string>()) owner.*member = choice.second;
            }
          },
          {}};
}

// An array of tables, [[gateway.routes]]: each row is an R with its own keys and checks.
template <class T, class R>
Key<T> records_key(std::string name, std::vector<R> T::* member, const Group<R>& row,
                   std::string default_text, KeyOptions options, Reload reload, std::string help) {
  KeyDecl decl = detail::declare(Kind::Records, name, std::move(default_text), std::move(options),
                                 reload, std::move(help));
  for (const Key<R>& key : row.keys()) decl.fields.push_back(key.decl);
  auto set = [member, keys = row.keys()](T& owner, const Value& value) {
    (owner.*member).clear();
    for (const std::vector<Value>& fields : value.as<Records>().rows) {
      R& record = (owner.*member).emplace_back();
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i].set(record, fields[i]);
    }
  };
  auto check = [member, name, checks = row.checks()](const T& owner, Problems& problems) {
    for (std::size_t i = 0; i < (owner.*member).size(); ++i) {
      Problems found;
      for (const Check<R>& one : checks) one((owner.*member)[i], found);
      append_under(name + "[" + std::to_string(i) + "].", found, problems);
    }
  };
  return {std::move(decl), std::move(set), std::move(check)};
}

}  // namespace ron::config
