#include "runtime/json/value.h"

#include <algorithm>

namespace omni::json {

const Value* Value::Find(std::string_view key) const {
  const Object* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found =
      std::find_if(members->rbegin(), members->rend(),
                   [key](const Member& member) { return member.first == key; });
  return found == members->rend() ? nullptr : &found->second;
}

bool operator==(const Value& a, const Value& b) { return a.value_ == b.value_; }

}  // namespace omni::json
