#include "config/render.h"

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "config/bounds.h"
#include "config/print.h"
#include "config/read.h"

namespace ron::config {
namespace {

void write_json_value(base::JsonWriter& json, const Entry& entry) {
  const Value& value = entry.value;
  if (entry.decl->options.secret) {
    json.value(kRedacted);
    return;
  }
  switch (entry.decl->kind) {
    case Kind::Bool:
      json.value(value.as<bool>());
      return;
    case Kind::Count:
      json.value(value.as<std::uint64_t>());
      return;
    case Kind::Number:
      json.value(value.as<double>());
      return;
    case Kind::Text:
      json.value(value.as<std::string>());
      return;
    case Kind::Address:
      json.value(print(value.as<Address>()));
      return;
    case Kind::TextList:
      json.begin_array();
      for (const std::string& item : value.as<TextList>()) json.value(item);
      json.end_array();
      return;
    case Kind::CountMap:
      json.begin_object();
      for (const auto& [name, count] : value.as<CountMap>()) json.key(name).value(count);
      json.end_object();
      return;
    case Kind::Records:
      json.begin_array();
      for (const std::vector<Value>& row : value.as<Records>().rows) {
        json.begin_object();
        for (std::size_t i = 0; i < row.size(); ++i) {
          const KeyDecl& field = entry.decl->fields[i];
          json.key(field.name);
          write_json_value(json, Entry{"", &field, row[i], {}});
        }
        json.end_object();
      }
      json.end_array();
      return;
    default:
      json.value(plain_text(*entry.decl, value));
      return;
  }
}

// The default in TOML source; the text as declared when the declaration is broken.
std::string default_toml(const KeyDecl& decl) {
  Problems problems;
  const auto value = read_value(decl, Raw::word(decl.default_text),
                                ReadContext{decl.name, Source{}, true, problems});
  return value ? toml_text(decl, *value) : toml_string(decl.default_text);
}

// Text inside a Markdown table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string type_text(const KeyDecl& decl) {
  std::string out(kind_name(decl.kind));
  if (!decl.options.unit.empty()) out += " (" + decl.options.unit + ")";
  if (decl.options.secret) out += ", secret";
  return out;
}

void markdown_row(std::string& out, const std::string& name, const KeyDecl& decl) {
  const std::string initial = decl.options.required ? "required" : "`" + default_toml(decl) + "`";
  out += "| `" + name + "` | " + cell(type_text(decl)) + " | " + cell(initial) + " | " +
         cell(allowed_text(decl)) + " | " + std::string(reload_name(decl.reload)) + " | " +
         cell(decl.help) + " |\n";
}

// What an annotated file says of one key.
struct SampleLine {
  std::string value;  // in TOML source
  bool active = true;
  std::string remark = {};  // where the value comes from
};
using SampleLines = std::function<SampleLine(const std::string& full, const KeyDecl& decl)>;

void sample_key(std::string& out, const std::string& leaf, const KeyDecl& decl,
                const SampleLine& line) {
  out += "\n# " + decl.help + "\n# " + type_text(decl);
  if (const std::string allowed = allowed_text(decl); !allowed.empty()) out += ", " + allowed;
  out += "; reload: " + std::string(reload_name(decl.reload)) + "\n";
  if (!line.remark.empty()) out += "# from " + line.remark + "\n";
  if (!line.active) out += "# ";
  out += leaf + " = " + line.value + "\n";
}

// A key's table and last part: limits.max_body_bytes is max_body_bytes in [storage.limits].
std::string table_of(const AnySection& section, const KeyDecl& decl) {
  const std::string full = section.full(decl);
  return full.substr(0, full.rfind('.'));
}
std::string leaf_of(const KeyDecl& decl) {
  const std::size_t dot = decl.name.rfind('.');
  return dot == std::string::npos ? decl.name : decl.name.substr(dot + 1);
}

// Seams for tests, which only builds with tests have, are no part of what is documented.
bool is_documented(const KeyDecl& decl) { return !decl.name.starts_with("debug."); }

std::string annotated(const Schema& schema, const SampleLines& line_of) {
  std::string out =
      "# Settings of this process. Flags (--set KEY=VALUE) and RON_ environment variables win over "
      "it.\n";
  for (const AnySection* section : schema.sections()) {
    // Keys of one table stand together even when the declarations interleave; TOML wants the
    // section's own keys before its sub-tables.
    std::vector<std::string> tables = {section->name()};
    for (const KeyDecl& decl : section->decls()) {
      const std::string table = table_of(*section, decl);
      if (!is_documented(decl)) continue;
      if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
    }
    for (const std::string& table : tables) {
      out += table == section->name() ? "\n# " + section->help() + "\n" : "\n";
      out += "[" + table + "]\n";
      for (const KeyDecl& decl : section->decls()) {
        if (table_of(*section, decl) != table || !is_documented(decl)) continue;
        sample_key(out, leaf_of(decl), decl, line_of(section->full(decl), decl));
      }
    }
  }
  return out;
}

std::string_view unit_of(Meant meant) {
  switch (meant) {
    case Meant::Same:
      break;
    case Meant::Seconds:
      return ", in seconds";
    case Meant::Milliseconds:
      return ", in milliseconds";
    case Meant::OneLess:
      return ", less one";
  }
  return "";
}

// The other spellings of a section's keys: of all of them, and of single ones.
void alias_lines(std::string& out, const Schema& schema, const AnySection& section) {
  std::string single;
  for (const Schema::Alias& alias : schema.aliases()) {
    if (alias.target == section.name()) {
      out += "`" + alias.prefix + ".X` is another spelling of `" + alias.target +
             ".X`; giving both is an error.\n\n";
    } else if (alias.target.starts_with(section.name() + ".")) {
      single += "- `" + alias.prefix + "`: `" + alias.target + "`" +
                std::string(unit_of(alias.meant)) + "\n";
    }
  }
  if (!single.empty()) out += "Other spellings; giving both is an error:\n\n" + single + "\n";
}

}  // namespace

std::string shown_value(const Entry& entry) {
  if (entry.decl->options.secret) return std::string(kRedacted);
  return plain_text(*entry.decl, entry.value);
}

std::string show(const Config& config) {
  // A few long lists must not push every source off the screen.
  constexpr std::size_t kMaxValueColumn = 32;
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const Entry& entry : config.entries()) {
    key_width = std::max(key_width, entry.key.size());
    value_width = std::max(value_width, std::min(shown_value(entry).size(), kMaxValueColumn));
  }
  std::string out;
  for (const Entry& entry : config.entries()) {
    std::string line = entry.key;
    line.resize(key_width, ' ');
    std::string value = shown_value(entry);
    if (value.size() < value_width) value.resize(value_width, ' ');
    out += line + "  " + value + "  " + entry.source.text() + "\n";
  }
  return out;
}

std::string show_json(const Config& config) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  for (const Entry& entry : config.entries()) {
    json.key(entry.key).begin_object().key("value");
    write_json_value(json, entry);
    json.key("source").value(entry.source.text());
    json.key("reload").value(reload_name(entry.decl->reload)).end_object();
  }
  json.end_object();
  return out;
}

std::string reference_markdown(const Schema& schema) {
  std::string out =
      "# Configuration keys\n\n"
      "Flags win over the environment, the environment over the file, the file over defaults.\n"
      "Reload: `hot` keys apply at once, `rebind` keys reopen listeners, `restart` keys refuse a "
      "reload.\n";
  for (const AnySection* section : schema.sections()) {
    out += "\n## " + section->name() + "\n\n" + section->help() + "\n\n";
    alias_lines(out, schema, *section);
    out += "| key | type | default | allowed | reload | meaning |\n";
    out += "| --- | --- | --- | --- | --- | --- |\n";
    for (const KeyDecl& decl : section->decls()) {
      if (!is_documented(decl)) continue;
      const std::string full = section->full(decl);
      markdown_row(out, full, decl);
      for (const KeyDecl& field : decl.fields) markdown_row(out, full + "[]." + field.name, field);
    }
  }
  return out;
}

std::string sample_toml(const Schema& schema, SampleKeys keys) {
  return annotated(schema, [keys](const std::string&, const KeyDecl& decl) {
    return SampleLine{default_toml(decl), keys == SampleKeys::Active};
  });
}

std::string effective_toml(const Schema& schema, const Config& config) {
  return annotated(schema, [&config](const std::string& full, const KeyDecl& decl) {
    const Entry* entry = config.find(full);
    if (entry == nullptr || entry->source.layer == Layer::Default) {
      return SampleLine{default_toml(decl), false};
    }
    const bool secret = decl.options.secret;
    return SampleLine{secret ? toml_string(std::string(kRedacted)) : toml_text(decl, entry->value),
                      !secret, printable(entry->source.text(), 200)};
  });
}

}  // namespace ron::config
