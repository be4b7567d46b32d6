#ifndef OMNI_RUNTIME_BASE_UTF8_H_
#define OMNI_RUNTIME_BASE_UTF8_H_

#include <string_view>

namespace omni {

// Whether `text` is well-formed UTF-8 as Unicode defines it: no overlong form,
// no surrogate, nothing above U+10FFFF. A proto3 `string` that is not arrives
// nowhere: gRPC calls it sent, and the client finds no message.
bool IsValidUtf8(std::string_view text);

}  // namespace omni

#endif  // OMNI_RUNTIME_BASE_UTF8_H_
