#include "runtime/server/response_check.h"

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "google/protobuf/descriptor.h"
#include "runtime/base/status_macros.h"
#include "runtime/base/utf8.h"

namespace omni {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

absl::Status CheckStringsAreUtf8(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::string scratch;
  for (const FieldDescriptor* field : fields) {
    const bool is_message =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && field->type() != FieldDescriptor::TYPE_STRING) continue;
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (is_message) {
        RETURN_IF_ERROR(CheckStringsAreUtf8(
            field->is_repeated()
                ? reflection.GetRepeatedMessage(message, field, i)
                : reflection.GetMessage(message, field)));
        continue;
      }
      const std::string& text =
          field->is_repeated()
              ? reflection.GetRepeatedStringReference(message, field, i,
                                                      &scratch)
              : reflection.GetStringReference(message, field, &scratch);
      if (!IsValidUtf8(text)) {
        return absl::InternalError(absl::StrFormat(
            "%s of a response is not valid UTF-8", field->full_name()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace omni
